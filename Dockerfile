# The dashboard in a container: docs/hosting.md says how a team shares it. `make image` builds it with what the machine has.
FROM python:3.11-slim-bookworm AS packages

WORKDIR /opt
COPY constraints-run.txt ./
RUN python -m venv /opt/packages \
    && /opt/packages/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r constraints-run.txt

FROM python:3.11-slim-bookworm

RUN useradd --system --uid 10001 --home-dir /var/lib/trainwatch --create-home --shell /usr/sbin/nologin trainwatch
COPY --from=packages /opt/packages /opt/packages
COPY app.py /opt/trainwatch/
COPY .streamlit /opt/trainwatch/.streamlit
COPY pages /opt/trainwatch/pages
COPY monitor /opt/trainwatch/monitor
ENV PATH=/opt/packages/bin:$PATH \
    PYTHONPATH=/opt/trainwatch \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# Settings, cache and archives of the user that runs it; nothing else is written.
WORKDIR /var/lib/trainwatch
USER 10001

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

# There is no sign-in: others reach it through a proxy that has one, and change nothing.
ENTRYPOINT ["python", "-m", "monitor"]
CMD ["dashboard", "--host", "0.0.0.0", "--port", "8501", "--read-only"]
