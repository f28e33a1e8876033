# The bot is one static binary. The default image has the programs of a small
# Debian beside it, for the agent's commands, and bubblewrap to confine them;
# --target minimal has nothing but the bot, for those who switch exec off.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
# otel: with traces, see docs/traces.md
ARG TAGS=
RUN CGO_ENABLED=0 go build -trimpath -tags "${TAGS}" -ldflags "-s -w -X clawbot/internal/version.Version=${VERSION}" -o /clawbot ./cmd/clawbot
RUN mkdir -p /data

FROM scratch AS minimal
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /clawbot /clawbot
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
ENV XDG_DATA_HOME=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/clawbot", "healthcheck"]
ENTRYPOINT ["/clawbot"]
CMD ["run"]

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /clawbot /clawbot
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
ENV XDG_DATA_HOME=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/clawbot", "healthcheck"]
ENTRYPOINT ["/clawbot"]
CMD ["run"]
