type Issue = { path: readonly PropertyKey[]; message: string }

/** The issues that zod found, as one line for people: `users.0.email: Invalid email address; …`. */
export const formatIssues = (issues: readonly Issue[]) => issues.map(formatIssue).join('; ')

const formatIssue = ({ path, message }: Issue) =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`
