/** Ids of apps and keys begin with the time, and differ in their last digits. */
export const endOf = (id: string) => id.slice(-12)

/** As much of an id as a narrow screen has room for: its end, unless another one is given. */
export const ShortId = ({ id, end = endOf(id) }: { id: string; end?: string }) => (
  <span className="short-id" title={id}>
    {end}
  </span>
)
