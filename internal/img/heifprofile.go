package img

import (
	"bytes"
	"encoding/binary"
)

// heifProperties are the tables of the box meta that give images their properties.
type heifProperties struct {
	primary uint32
	list    []heifProperty
	of      map[uint32][]int // numbers of the properties of an image, from 1
	cut     bool             // a table ends too early
}

type heifProperty struct {
	kind string
	body []byte
}

// heifProfile returns the profile among the properties of the primary image.
func heifProfile(data []byte) ([]byte, error) {
	p := heifProperties{of: map[uint32][]int{}}
	for kind, body := range boxes(data) {
		if kind != "meta" || len(body) < 4 {
			continue
		}
		for kind, body := range boxes(body[4:]) {
			p.read(kind, body)
		}
	}
	if p.cut {
		return nil, errDamagedProfile
	}
	for _, n := range p.of[p.primary] {
		if n < 1 || n > len(p.list) || p.list[n-1].kind != "colr" {
			continue
		}
		for _, kind := range []string{"prof", "rICC"} {
			if profile, ok := bytes.CutPrefix(p.list[n-1].body, []byte(kind)); ok {
				return profile, nil
			}
		}
	}
	return nil, nil
}

// boxes yields the type and the content of each box in a list. It skips what follows the last complete box,
// because phones append data of their own.
func boxes(data []byte) func(yield func(kind string, body []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			size, header := uint64(binary.BigEndian.Uint32(data)), uint64(8)
			switch {
			case size == 0: // up to the end
				size = uint64(len(data))
			case size == 1 && len(data) >= 16:
				size, header = binary.BigEndian.Uint64(data[8:]), 16
			}
			if size < header || size > uint64(len(data)) || !yield(string(data[4:8]), data[header:size]) {
				return
			}
			data = data[size:]
		}
	}
}

// read reads a box of the box meta or of the box iprp in it. It ignores boxes of other kinds.
func (p *heifProperties) read(kind string, body []byte) {
	number := func(size int) (v uint32) {
		if size > len(body) {
			body, p.cut = nil, true
		}
		for ; size > 0 && len(body) > 0; size-- {
			v, body = v<<8|uint32(body[0]), body[1:]
		}
		return v
	}
	size := map[bool]int{false: 1, true: 2}
	switch kind {
	case "pitm":
		version := number(4) >> 24
		p.primary = number(2 * size[version > 0])
	case "iprp":
		for kind, body := range boxes(body) {
			p.read(kind, body)
		}
	case "ipco":
		for kind, body := range boxes(body) {
			p.list = append(p.list, heifProperty{kind, body})
		}
	case "ipma":
		head := number(4)
		wide, mask := size[head&1 != 0], map[bool]uint32{false: 0x7f, true: 0x7fff}[head&1 != 0]
		for n := number(4); n > 0 && !p.cut; n-- {
			id := number(2 * size[head>>24 > 0])
			for range number(1) {
				p.of[id] = append(p.of[id], int(number(wide)&mask))
			}
		}
	}
}
