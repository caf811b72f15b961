package vec

// HeadDots computes dst[h] = q_h·k_h for the heads of a query and a key. A head is a run of
// len(q)/len(dst) numbers. It sums float32 in eight lanes and adds the lanes by halves.
func HeadDots(dst, q, k []float32) {
	if len(dst) == 0 {
		return
	}
	size := len(q) / len(dst)
	k = k[:len(q)]
	if !headDotsFast(dst, q, k, size) {
		headDots(dst, q, k, size)
	}
}

func headDots(dst, q, k []float32, size int) {
	for h := range dst {
		var s [8]float32
		for i, v := range q[h*size : (h+1)*size] {
			s[i&7] += float32(v * k[h*size+i])
		}
		dst[h] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	}
}

// HeadMix computes dst_h += p[h]·v_h for the heads of dst and of a value v.
func HeadMix(dst, p, v []float32) {
	if len(p) == 0 {
		return
	}
	size := len(dst) / len(p)
	v = v[:len(dst)]
	if !headMixFast(dst, p, v, size) {
		headMix(dst, p, v, size)
	}
}

func headMix(dst, p, v []float32, size int) {
	for h, w := range p {
		for i := h * size; i < (h+1)*size; i++ {
			dst[i] += float32(w * v[i])
		}
	}
}
