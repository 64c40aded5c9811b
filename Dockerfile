# The explorer for production: one process that serves, sandboxed children that compile.
FROM python:3.12-slim AS build
WORKDIR /strata
RUN python -m venv /opt/venv
COPY pyproject.toml README.md constraints.txt ./
COPY app app
COPY compiler compiler
RUN /opt/venv/bin/pip install --no-cache-dir -c constraints.txt -e '.[cluster,postgresql,store]'

FROM python:3.12-slim
# libgomp1 is the OpenMP runtime that parallel loops run on; llvm has llvm-mca, for the throughput of hot loops.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 llvm && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home strata && install -d -o strata -m 700 /data
COPY --from=build /opt/venv /opt/venv
WORKDIR /strata
COPY pyproject.toml README.md ./
COPY app app
COPY compiler compiler
COPY static static
COPY templates templates
ENV STRATA_HOST=0.0.0.0 STRATA_PORT=8000 STRATA_DATA_DIR=/data STRATA_ACCESS_LOG=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER strata
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=20s --interval=30s --timeout=5s \
    CMD ["/opt/venv/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["/opt/venv/bin/python", "-m", "app"]
