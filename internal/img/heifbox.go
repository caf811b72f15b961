package img

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// checkHEIF rejects a file whose images refer to one another in a circle or very deeply, or that would
// be decoded very many times: libheif follows such references without a limit, and version 1.15
// overflows its stack. It rejects a file with very many images, for which libheif takes quadratic
// time, and with an [ErrTooBig] one whose codec would decode more than a number of pixels for any
// image that the primary one needs, whatever the header says of its size.
//
// It reads the box iref in the box meta. An image needs the images that it is derived from (dimg),
// as a grid needs its tiles, and the auxiliary images that refer to it (auxl), such as its opacity.
func checkHEIF(data []byte, pixels int) error {
	items, needs, err := readHEIF(data)
	if err != nil {
		return err
	}
	if err := needs.check(); err != nil {
		return err
	}
	return items.checkSizes(data, needs, pixels)
}

// readHEIF reads the tables of a file.
func readHEIF(data []byte) (items heifItems, needs references, err error) {
	needs = references{}
	items = heifItems{types: map[uint32]string{}, extents: map[uint32][]extent{}, of: map[uint32][]int{}}
	err = boxes(data, func(kind string, body []byte) error {
		if kind != "meta" || len(body) < 4 {
			return nil
		}
		return boxes(body[4:], func(kind string, body []byte) error {
			if kind == "iref" {
				return needs.read(body)
			}
			return items.read(kind, body)
		})
	})
	return items, needs, err
}

// boxes calls do with the type and the content of each box in a list. It skips what follows the
// last complete box, because phones append data of their own.
func boxes(data []byte, do func(kind string, body []byte) error) error {
	for len(data) >= 8 {
		size, header := uint64(binary.BigEndian.Uint32(data)), uint64(8)
		switch {
		case size == 0: // up to the end
			size = uint64(len(data))
		case size == 1 && len(data) >= 16:
			size, header = binary.BigEndian.Uint64(data[8:]), 16
		}
		if size < header || size > uint64(len(data)) {
			return nil
		}
		if err := do(string(data[4:8]), data[header:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// references lists the images that each image needs.
type references map[uint32][]uint32

// read adds the references of a box iref: a version, flags, and boxes {from, number, to …}.
func (r references) read(body []byte) error {
	if len(body) < 4 {
		return errors.New("box iref is cut off")
	}
	width := 2
	if body[0] != 0 {
		width = 4
	}
	id := func(b []byte) uint32 {
		if width == 2 {
			return uint32(binary.BigEndian.Uint16(b))
		}
		return binary.BigEndian.Uint32(b)
	}
	count := 0
	return boxes(body[4:], func(kind string, body []byte) error {
		if count++; count > mostHEIFProperties {
			return fmt.Errorf("the images have more than %d references", mostHEIFProperties)
		}
		if len(body) < width+2 {
			return errors.New("a reference in box iref is cut off")
		}
		from, n, to := id(body), int(binary.BigEndian.Uint16(body[width:])), body[width+2:]
		if len(to) < n*width {
			return errors.New("a reference in box iref is cut off")
		}
		for i := range n {
			switch other := id(to[i*width:]); kind {
			case "dimg":
				r[from] = append(r[from], other)
			case "auxl":
				r[other] = append(r[other], from)
			}
		}
		return nil
	})
}

const (
	deepestReference = 8      // a grid of tiles with an opacity that is a grid too has 3
	mostReferences   = 20_000 // images decoded for one; 64 million pixels are 244 tiles of a phone
)

// check follows the references of every image.
func (r references) check() error {
	type seen struct{ depth, images int } // below an image that was followed
	known := map[uint32]seen{}
	var follow func(id uint32, above int) (seen, error)
	follow = func(id uint32, above int) (seen, error) {
		below, done := known[id]
		if above+below.depth > deepestReference {
			return below, fmt.Errorf("image %d refers to itself, or over more than %d others", id, deepestReference)
		}
		if done {
			return below, nil
		}
		below.images = 1
		for _, other := range r[id] {
			next, err := follow(other, above+1)
			if err != nil {
				return below, err
			}
			below.depth = max(below.depth, next.depth+1)
			if below.images += next.images; below.images > mostReferences {
				return below, fmt.Errorf("image %d refers to more than %d others", id, mostReferences)
			}
		}
		known[id] = below
		return below, nil
	}
	for id := range r {
		if _, err := follow(id, 0); err != nil {
			return err
		}
	}
	return nil
}
