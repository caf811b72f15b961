package nn

// layout says how an array lies in files (torch's order) and on a device.
type layout struct {
	file, device []int
	transposed   bool // [K,C,R,S] in files
}

// same is the layout of all arrays but the weights of convolutions.
func same(dims ...int) layout { return layout{file: dims, device: dims} }

// filters is the layout of convolution weights: [K,C,R,S] in files and [K,R,S,C']
// on the device, where images have C' ≥ C channels. The weights of the channels
// beyond C are zero; since these channels are zero too, so are their gradients,
// and they stay zero.
func filters(k, c, r, s, channels int) layout {
	return layout{file: []int{k, c, r, s}, device: []int{k, r, s, channels}, transposed: true}
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// toDevice rearranges src, in file order, into dst.
func (l layout) toDevice(dst, src []float32) {
	if !l.transposed {
		copy(dst, src)
		return
	}
	clear(dst)
	l.each(func(file, device int) { dst[device] = src[file] })
}

// toFile rearranges src, in device order, into dst.
func (l layout) toFile(dst, src []float32) {
	if !l.transposed {
		copy(dst, src)
		return
	}
	l.each(func(file, device int) { dst[file] = src[device] })
}

// each visits the elements of a weight with their places in both orders.
func (l layout) each(visit func(file, device int)) {
	k, c, r, s := l.file[0], l.file[1], l.file[2], l.file[3]
	channels := l.device[3]
	file := 0
	for ki := range k {
		for ci := range c {
			for ri := range r {
				for si := range s {
					visit(file, ((ki*r+ri)*s+si)*channels+ci)
					file++
				}
			}
		}
	}
}
