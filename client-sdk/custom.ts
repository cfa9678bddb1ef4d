/**
 * The type of `custom` of users. Declare the fields of your application once, in a file that begins
 * with `import '@parley/client'`, or the declaration takes the place of the package's types:
 * `declare module '@parley/client' { interface CustomUser { plan?: 'free' | 'pro' } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomUser {}
/** The type of `custom` of messages, declared in the same way. */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomMessage {}
/** The type of `custom` of channels, declared in the same way. */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomChannel {}
/** The type of `custom` of members of channels, declared in the same way. */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomMember {}
/** The type of `custom` of attachments, declared in the same way. */
// biome-ignore lint/suspicious/noEmptyInterface: applications fill it in
export interface CustomAttachment {}
/** A change of `custom`: null removes a field, and fields that are left out stay. */
export type CustomChange<Custom> = { [Field in keyof Custom]?: Custom[Field] | null }
