/** The secrets of every server that the tests start, in this process or another. */
export const ADMIN_KEY = 'admin-key-of-the-tests'
export const SECRET = 'a secret of the tests, 32 bytes or more'
/** The public URL of servers in this process. */
export const PUBLIC_URL = 'https://chat.test'
