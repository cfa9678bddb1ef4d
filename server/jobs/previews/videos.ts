import type { LinkPreview } from '@parley/contract'

/** A video as its URL alone describes it, and where its site tells more. */
export type Video = { preview: LinkPreview & { title: string }; oEmbed: string }

const YOUTUBE_HOSTS = new Set([
  'youtube.com',
  'www.youtube.com',
  'm.youtube.com',
  'music.youtube.com',
  'youtube-nocookie.com',
  'www.youtube-nocookie.com',
])
const VIMEO_HOSTS = new Set(['vimeo.com', 'www.vimeo.com', 'player.vimeo.com'])

/** The video of the two video sites that a URL leads to, if it does. */
export function videoAt(address: string): Video | undefined {
  const url = new URL(address)
  return youTube(address, youTubeId(url)) ?? vimeo(address, url)
}

function youTubeId({ hostname, pathname, searchParams }: URL) {
  const [, first = '', second = ''] = pathname.split('/')
  const id =
    hostname === 'youtu.be'
      ? first
      : YOUTUBE_HOSTS.has(hostname)
        ? ['embed', 'shorts', 'live', 'v'].includes(first)
          ? second
          : searchParams.get('v')
        : null
  return id && /^[\w-]{11}$/.test(id) ? id : undefined
}

const youTube = (url: string, videoId: string | undefined): Video | undefined =>
  videoId === undefined
    ? undefined
    : {
        preview: {
          url,
          title: 'YouTube video',
          description: null,
          image: `https://i.ytimg.com/vi/${videoId}/hqdefault.jpg`,
          siteName: 'YouTube',
          type: 'video',
          videoId,
          embedUrl: `https://www.youtube.com/embed/${videoId}`,
        },
        oEmbed: `https://www.youtube.com/oembed?format=json&url=${encodeURIComponent(`https://www.youtube.com/watch?v=${videoId}`)}`,
      }

/** vimeo.com/1, /1/<key of an unlisted video>, /channels/x/1, /groups/x/videos/1; player.vimeo.com/video/1?h=<key>. */
function vimeo(address: string, { hostname, pathname, searchParams }: URL): Video | undefined {
  if (!VIMEO_HOSTS.has(hostname)) return undefined
  const [, videoId, pathKey] =
    /^(?:\/video|\/channels\/[^/]+|\/groups\/[^/]+\/videos)?\/(\d{1,20})(?:\/([0-9a-f]{6,20}))?\/?$/.exec(
      pathname,
    ) ?? []
  if (videoId === undefined) return undefined
  const key = pathKey ?? /^[0-9a-f]{6,20}$/.exec(searchParams.get('h') ?? '')?.[0]
  const page = `https://vimeo.com/${videoId}${key ? `/${key}` : ''}`
  return {
    preview: {
      url: address,
      title: 'Vimeo video',
      description: null,
      image: null,
      siteName: 'Vimeo',
      type: 'video',
      videoId,
      embedUrl: `https://player.vimeo.com/video/${videoId}${key ? `?h=${key}` : ''}`,
    },
    oEmbed: `https://vimeo.com/api/oembed.json?url=${encodeURIComponent(page)}`,
  }
}
