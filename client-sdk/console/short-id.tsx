/** Ids of apps and keys begin with the time, and differ in their last digits. */
const endOf = (id: string) => id.slice(-12)

/** As much of an id as a narrow screen has room for. */
export const ShortId = ({ id }: { id: string }) => (
  <span className="short-id" title={id}>
    {endOf(id)}
  </span>
)
