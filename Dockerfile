# The whole bot is one static binary; there is no shell in the image.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X clawbot/internal/version.Version=${VERSION}" -o /clawbot ./cmd/clawbot
RUN mkdir -p /data

FROM scratch
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
