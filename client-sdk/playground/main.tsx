import './styles/tokens.css'
import './styles/controls.css'
import './styles/page.css'
import './styles/sidebar.css'
import './styles/conversation.css'
import './styles/message.css'
import './styles/tools.css'
import './styles/composer.css'
import './styles/quotes.css'
import './styles/details.css'
import './styles/emojis.css'
import './styles/found.css'
import './styles/overlays.css'
import './styles/wire.css'
import './styles/phone.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
