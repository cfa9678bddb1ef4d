# The server without a database (compose.yaml has both): docker build -t parley .
# docker run parley migrate, and so on, runs the other commands.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY contract/package.json contract/
COPY server/package.json server/
COPY client-sdk/package.json client-sdk/
COPY test/package.json test/

FROM packages AS build
RUN npm ci --include-workspace-root --workspace contract --workspace server --workspace client-sdk \
    --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY contract contract
COPY server server
COPY client-sdk client-sdk
# The guides, for the page at /docs.
COPY README.md ./
COPY docs docs
RUN npm run build

# What the server needs to run, without the embedded PostgreSQL.
FROM packages AS modules
RUN npm ci --workspace contract --workspace server \
    --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
# Of packages that name it as a peer, for types only.
RUN rm -rf node_modules/typescript node_modules/.bin/tsc

FROM node:24-slim
WORKDIR /app
# Only the network of the container reaches the metrics, unless their port is published.
ENV NODE_ENV=production METRICS_HOST=0.0.0.0
COPY --from=modules /app/node_modules node_modules
COPY --from=modules /app/package.json ./
COPY --from=build /app/contract/package.json contract/
COPY --from=build /app/contract/dist contract/dist
COPY --from=modules /app/server server
COPY --from=build /app/server/dist server/dist
COPY LICENSE server/THIRD-PARTY.md ./
# The user node, by number: Kubernetes can then see that it is not root.
USER 1000:1000
EXPOSE 5501
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 5501}/health/live`) \
    .then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/server/dist/bin/parley.js"]
CMD ["start"]
