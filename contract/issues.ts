type Issue = { path: readonly PropertyKey[]; message: string }

/** How many issues are listed: a body may have tens of thousands. */
const MOST_LISTED = 20

/**
 * The issues that zod found, as one line for people: `users.0.email: Invalid email address; …`, and
 * how many there are beyond the first ones.
 */
export function formatIssues(issues: readonly Issue[]) {
  const listed = issues.slice(0, MOST_LISTED).map(formatIssue).join('; ')
  return issues.length > MOST_LISTED ? `${listed}; and ${issues.length - MOST_LISTED} more` : listed
}

const formatIssue = ({ path, message }: Issue) =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`
