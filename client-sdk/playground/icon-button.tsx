import { Icon, type IconName } from './icons.tsx'

type Props = {
  label: string
  /** The text of the tooltip; by default the label. */
  title?: string
  icon: IconName
  size?: number
  onClick: () => void
}

export const IconButton = ({ label, title = label, icon, size = 18, onClick }: Props) => (
  <button type="button" className="icon-button" aria-label={label} title={title} onClick={onClick}>
    <Icon name={icon} size={size} />
  </button>
)
