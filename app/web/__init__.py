"""Around every request: security, errors as responses, the API's description, request bodies, rate limits."""
