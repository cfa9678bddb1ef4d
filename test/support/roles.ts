import { connectOnce } from '@parley/server/db/client'
import { withSchema } from '@parley/server/db/schema-name'
import { inject } from 'vitest'
import { databaseUrl } from './postgres.ts'

const PASSWORD = 'of-a-test'

/** An empty database, and its administrator, who makes roles that are no superusers. */
export async function createSharedDatabase(server = inject('databaseUrl')) {
  const name = `${inject('template')}_${process.pid}_shared`
  const maker = connectOnce(server)
  await maker.unsafe(`create database ${name}`)
  const url = databaseUrl(server, name)
  const admin = connectOnce(url)
  const roles: string[] = []
  return {
    admin,
    /** The address of the database for its owner. */
    url,
    /** Makes a role, and gives the address of the database for it and for a schema. */
    createRole: async () => {
      const role = `role_${process.pid}_${roles.length}`
      roles.push(role)
      await admin.unsafe(`create role ${role} login password '${PASSWORD}'`)
      const own = new URL(url)
      own.username = role
      own.password = PASSWORD
      return { role, urlOf: (schema: string) => withSchema(own.href, schema) }
    },
    drop: async () => {
      await admin.end()
      await maker.unsafe(`drop database ${name} with (force)`)
      for (const role of roles) await maker.unsafe(`drop role ${role}`)
      await maker.end()
    },
  }
}
