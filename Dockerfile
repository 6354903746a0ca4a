# syntax=docker/dockerfile:1
# docker build -t seasync .            (weights are fetched at the first start, into the volume /cache)
# docker build --build-arg WEIGHTS=1 .  (weights are part of the image)
FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements ./requirements
RUN python -m venv /opt/seasync && python -m venv /opt/build \
  && /opt/seasync/bin/pip install --no-cache-dir --require-hashes -r requirements/image.txt \
  && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
  && /opt/seasync/bin/pip install --no-cache-dir --no-deps dist/*.whl
ARG WEIGHTS=
RUN mkdir -p /cache && if [ -n "$WEIGHTS" ]; then SEASYNC_CACHE=/cache /opt/seasync/bin/seasync models pull; fi

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 seasync
COPY --from=build /opt/seasync /opt/seasync
COPY --from=build --chown=seasync /cache /cache
ENV PATH=/opt/seasync/bin:$PATH SEASYNC_CACHE=/cache PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME ["/cache", "/data"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/', timeout=4)"]
ENTRYPOINT ["seasync"]
CMD ["serve", "--sea", "/data/footage.sea", "--host", "0.0.0.0", "--port", "8765", "--state", "/data/.seasync"]
