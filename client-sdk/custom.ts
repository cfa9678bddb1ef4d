/**
 * Fields of your own that users carry in `custom`. Declare them once:
 * `declare module '@parley/client' { interface CustomUser { plan?: 'free' | 'pro' } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomUser {}
