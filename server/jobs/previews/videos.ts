import type { LinkPreview } from '@parley/contract'

/** The preview that a video's URL alone gives, and the URL where its site describes the video. */
export type Video = { preview: LinkPreview & { title: string }; oEmbedUrl: string }

const YOUTUBE_HOSTS = new Set([
  'youtube.com',
  'www.youtube.com',
  'm.youtube.com',
  'music.youtube.com',
  'youtube-nocookie.com',
  'www.youtube-nocookie.com',
])
const VIMEO_HOSTS = new Set(['vimeo.com', 'www.vimeo.com', 'player.vimeo.com'])

/** The YouTube or Vimeo video that a URL leads to, if any. */
export function videoAt(address: string): Video | undefined {
  const url = new URL(address)
  return youTube(address, url) ?? vimeo(address, url)
}

function youTube(address: string, url: URL): Video | undefined {
  const videoId = youTubeId(url)
  if (!videoId || !/^[\w-]{11}$/.test(videoId)) return undefined
  const page = `https://www.youtube.com/watch?v=${videoId}`
  return {
    preview: {
      url: address,
      title: 'YouTube video',
      description: null,
      image: `https://i.ytimg.com/vi/${videoId}/hqdefault.jpg`,
      siteName: 'YouTube',
      type: 'video',
      videoId,
      embedUrl: `https://www.youtube.com/embed/${videoId}`,
    },
    oEmbedUrl: `https://www.youtube.com/oembed?format=json&url=${encodeURIComponent(page)}`,
  }
}

function youTubeId({ hostname, pathname, searchParams }: URL) {
  const [, first = '', second = ''] = pathname.split('/')
  if (hostname === 'youtu.be') return first
  if (!YOUTUBE_HOSTS.has(hostname)) return undefined
  return ['embed', 'shorts', 'live', 'v'].includes(first) ? second : searchParams.get('v')
}

const VIMEO_PATH =
  /^(?:\/video|\/channels\/[^/]+|\/groups\/[^/]+\/videos)?\/(\d{1,20})(?:\/([0-9a-f]{6,20}))?\/?$/

/**
 * On vimeo.com: /1, /1/<key of an unlisted video>, /channels/x/1 and /groups/x/videos/1.
 * On player.vimeo.com: /video/1?h=<key>.
 */
function vimeo(address: string, { hostname, pathname, searchParams }: URL): Video | undefined {
  if (!VIMEO_HOSTS.has(hostname)) return undefined
  const [, videoId, pathKey] = VIMEO_PATH.exec(pathname) ?? []
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
    oEmbedUrl: `https://vimeo.com/api/oembed.json?url=${encodeURIComponent(page)}`,
  }
}
