/** A machine that is slow or shared says by how much it may take longer: `SLOWNESS=4`. */
export const slowness = Number(process.env.SLOWNESS ?? 1)
