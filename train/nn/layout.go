package nn

// layout is the shape of an array in files (torch's order) and on a device.
type layout struct {
	file, device []int
	transposed   bool    // [K,C,R,S] in files
	blocks       []block // runs of a flat array in another order, if any
}

// block is a run of n elements, with its start in files and on a device.
type block struct{ file, device, n int }

// equal reports whether files and devices store the same bytes.
func (l layout) equal() bool { return !l.transposed && l.blocks == nil }

// same is the layout of all arrays except the weights of convolutions and the moments of groups.
func same(dims ...int) layout { return layout{file: dims, device: dims} }

// filters is the layout of convolution weights: [K,C,R,S] in files and [K,R,S,C'] on the device,
// where images have C' ≥ C channels. The weights of the additional channels are zero. Because
// these channels of the images are zero, so are the gradients, and the weights stay zero.
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
	n := size(l.device)
	if l.equal() {
		copy(dst[:n], src)
		return
	}
	for _, b := range l.blocks {
		copy(dst[b.device:][:b.n], src[b.file:])
	}
	if !l.transposed {
		return
	}
	clear(dst[:n])
	l.each(func(file, device, inputs, area, channels int) {
		transpose(dst[device:], channels, src[file:], area, inputs, area)
	})
}

// toFile rearranges src, in device order, into dst.
func (l layout) toFile(dst, src []float32) {
	if l.equal() {
		copy(dst, src)
		return
	}
	for _, b := range l.blocks {
		copy(dst[b.file:][:b.n], src[b.device:])
	}
	if !l.transposed {
		return
	}
	l.each(func(file, device, inputs, area, channels int) {
		transpose(dst[file:], area, src[device:], channels, area, inputs)
	})
}

// each visits the filters with their start in both orders: [inputs, area] in files and [area,
// channels] on the device.
func (l layout) each(visit func(file, device, inputs, area, channels int)) {
	inputs, area, channels := l.file[1], l.file[2]*l.file[3], l.device[3]
	for k := range l.file[0] {
		visit(k*inputs*area, k*area*channels, inputs, area, channels)
	}
}

// transpose writes the columns of src, rows × cols numbers, as rows of dst.
func transpose(dst []float32, ldDst int, src []float32, ldSrc, rows, cols int) {
	for j := range cols {
		line := dst[j*ldDst:][:rows]
		for i := range line {
			line[i] = src[i*ldSrc+j]
		}
	}
}
