/** The results of the README's tour. The programs of `test/consumers` return them. */
export const tour = {
  isReply: true,
  reactions: [['🍲', 1]],
  unread: 1,
  texts: ['Hello @ben, soup or salad?', 'Soup, please'],
  pinned: [false, true],
  lastReadSeq: 2,
  left: [0],
  refused: 'NOT_FOUND',
}
