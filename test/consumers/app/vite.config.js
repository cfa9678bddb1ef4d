import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** A page, and a worker whose address stays the same. */
export default defineConfig({
  plugins: [react()],
  build: {
    rolldownOptions: {
      input: { page: 'index.html', worker: 'src/worker.ts' },
      output: {
        entryFileNames: ({ name }) =>
          name === 'worker' ? 'worker.js' : 'assets/[name]-[hash].js',
      },
    },
  },
})
