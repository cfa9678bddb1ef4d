import './styles/tokens.css'
import './styles/page.css'
import './styles/sidebar.css'
import './styles/conversation.css'
import './styles/message.css'
import './styles/composer.css'
import './styles/overlays.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { interceptSockets } from './network.ts'

// The SDK takes the page's WebSocket when it is loaded: what can cut the network comes first.
interceptSockets()
const { App } = await import('./app.tsx')
const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
