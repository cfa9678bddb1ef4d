import '../playground/styles/tokens.css'
import '../playground/styles/controls.css'
import '../playground/styles/overlays.css'
import './styles/layout.css'
import './styles/content.css'
import './styles/tables.css'
import './styles/messages.css'
import './styles/overview.css'
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
