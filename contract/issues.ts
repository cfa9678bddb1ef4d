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

/** How much of a value is shown, which may be as long as its sender likes. */
const MOST_SHOWN = 40

/** For zod: an issue that says what is allowed and what was given, which must be no secret. */
export const expected = (what: string) => ({
  error: ({ input }: { input?: unknown }) => `expected ${what}, not ${shown(input)}`,
})

function shown(input: unknown) {
  if (typeof input === 'object' && input !== null)
    return Array.isArray(input) ? 'a list' : 'an object'
  return String(JSON.stringify(input)).slice(0, MOST_SHOWN)
}

const formatIssue = ({ path, message }: Issue) =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`
