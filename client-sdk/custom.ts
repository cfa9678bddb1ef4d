/**
 * The type of `custom` of users. Declare the fields of your application once:
 * `declare module '@parley/client' { interface CustomUser { plan?: 'free' | 'pro' } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomUser {}
