/** Placeholders while something loads. */
export const Skeletons = ({ label, count }: { label: string; count: number }) => (
  <div className="skeletons" role="status" aria-label={label}>
    {Array.from({ length: count }, (_, index) => index).map((index) => (
      <span key={index} className="skeleton" />
    ))}
  </div>
)
