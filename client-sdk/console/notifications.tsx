import { addressOf } from './route.ts'
import { api } from './server.ts'
import { type Column, NotFound, ProblemNote, Refresh, Table } from './table.tsx'
import type { NotificationSettings } from './types.ts'
import { useData } from './use-data.ts'
import { When } from './when.tsx'

/** The settings that decide whether a user gets pushes. */
export function Notifications({ appId, userId }: { appId: string; userId: string }) {
  const { data, problem, reload } = useData(() => api.inspect.notifications({ appId, userId }), {
    key: `${appId} ${userId}`,
  })
  const users = addressOf(['apps', appId, 'users'])
  if (problem?.code === 'NOT_FOUND' && !data)
    return <NotFound what="user" list={{ title: 'All users', address: users }} />
  if (problem && !data) return <ProblemNote problem={problem} onRetry={reload} />
  return (
    <>
      <header className="page-head">
        <p className="crumb">
          <a href={users}>Users</a> / {userId}
        </p>
        <Refresh reload={reload} />
      </header>
      {data && (
        <>
          <Table
            label="Preferences"
            columns={preferenceColumns}
            rows={preferencesIn(data)}
            keyOf={({ what }) => what}
          />
          {data.devices.length > 0 ? (
            <Table
              label="Devices"
              columns={deviceColumns}
              rows={data.devices}
              keyOf={({ id }) => id}
            />
          ) : (
            <p className="empty">No devices: nothing is pushed to this user.</p>
          )}
        </>
      )}
      <p>
        <a href={addressOf(['apps', appId, 'channels'], { userId })}>Their channels</a> show which
        are muted.
      </p>
    </>
  )
}

type Preference = { what: string; isOn: boolean; note?: string }

function preferencesIn({ preferences }: NotificationSettings): Preference[] {
  const { quietHoursStart, quietHoursEnd, timezone } = preferences
  return [
    { what: 'Any push at all', isOn: preferences.pushEnabled },
    { what: 'New messages', isOn: preferences.newMessages },
    { what: 'Mentions', isOn: preferences.mentions },
    { what: 'Replies in their threads', isOn: preferences.threadReplies },
    { what: 'Reactions to their messages', isOn: preferences.reactions },
    { what: 'Being added to a channel', isOn: preferences.channelInvites },
    {
      what: 'Quiet hours',
      isOn: preferences.quietHoursEnabled,
      note: `${quietHoursStart} to ${quietHoursEnd}, ${timezone}`,
    },
  ]
}

const preferenceColumns: Column<Preference>[] = [
  { title: 'Preference', cell: ({ what }) => what },
  {
    title: 'State',
    cell: ({ isOn, note }) => (
      <>
        <span className="badge">{isOn ? 'On' : 'Off'}</span>{' '}
        {isOn && note && <span className="muted">{note}</span>}
      </>
    ),
  },
]

const deviceColumns: Column<NotificationSettings['devices'][number]>[] = [
  { title: 'Device', cell: ({ platform }) => platform },
  { title: 'Provider', cell: ({ provider }) => provider },
  { title: 'Registered', cell: ({ createdAt }) => <When iso={createdAt} /> },
]
