import { createContext, useContext } from 'react'
import type { Documents } from './documents.ts'

export const DocumentsContext = createContext<Documents | null>(null)

export function useDocuments(): Documents {
  const documents = useContext(DocumentsContext)
  if (!documents) throw new Error('useDocuments needs a DocumentsContext above')
  return documents
}
