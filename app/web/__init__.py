"""Request infrastructure: security, error responses, API description, request bodies, rate limits."""
