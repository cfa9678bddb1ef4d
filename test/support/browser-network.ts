import type { Page, WebSocketRoute } from 'playwright-core'

/** The network of a user's pages, apart from the files of the page. */
export async function networkOf(page: Page) {
  let isUp = true
  const sockets = new Set<WebSocketRoute>()
  const context = page.context()
  await context.route(/\/(api\/|token$|chat-token\?)/, (route) =>
    isUp ? route.continue() : route.abort('internetdisconnected'),
  )
  await context.routeWebSocket(/.*/, (socket) => {
    if (!isUp) return void socket.close()
    sockets.add(socket)
    socket.connectToServer()
  })
  return {
    cut: async () => {
      isUp = false
      for (const socket of sockets) await socket.close()
      sockets.clear()
    },
    mend: async () => {
      isUp = true
      await page.evaluate("dispatchEvent(new Event('online'))")
    },
  }
}
