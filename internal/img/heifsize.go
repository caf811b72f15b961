package img

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Bounds of the tables of a HEIF file. Libheif looks through some of them once for each of their rows.
// 64 million pixels are 244 tiles of a phone.
const (
	mostHEIFItems      = 2000
	mostHEIFProperties = 4000
)

// heifItems are the tables of the box meta that say where the images of a file are.
type heifItems struct {
	primary    uint32
	types      map[uint32]string   // "hvc1", "av01", "grid" …
	extents    map[uint32][]extent // where the data of an item are
	properties []property
	of         map[uint32][]int // numbers of the properties of an item, from 1
	idat       []byte
}

type extent struct {
	inside         bool // in the box idat, and not in the file
	offset, length uint64
}

type property struct {
	kind string
	body []byte
}

// cursor reads big-endian numbers. Behind the end it reads zeros.
type cursor struct {
	data []byte
	cut  bool // something behind the end was read
}

func (c *cursor) uint(size int) (v uint64) {
	if size > len(c.data) {
		c.data, c.cut = nil, true
		return 0
	}
	for _, b := range c.data[:size] {
		v = v<<8 | uint64(b)
	}
	c.data = c.data[size:]
	return v
}

// full reads the version of a box and returns it; its flags are flags.
func (c *cursor) full() (version int, flags uint64) {
	v := c.uint(4)
	return int(v >> 24), v & 0xffffff
}

// either reads 2 bytes, or 4 if wide is true.
func (c *cursor) either(wide bool) uint32 {
	if wide {
		return uint32(c.uint(4))
	}
	return uint32(c.uint(2))
}

// read reads a box of the box meta. It ignores those of other kinds.
func (m *heifItems) read(kind string, body []byte) error {
	c := &cursor{data: body}
	switch kind {
	case "pitm":
		version, _ := c.full()
		m.primary = c.either(version > 0)
	case "iinf":
		version, _ := c.full()
		if n := c.either(version > 0); n > mostHEIFItems {
			return fmt.Errorf("the file has %d images, want at most %d", n, mostHEIFItems)
		}
		if err := m.readInfos(c.data); err != nil {
			return err
		}
	case "iloc":
		return m.readPlaces(c)
	case "idat":
		m.idat = body
	case "iprp":
		return boxes(body, m.readProperties)
	}
	if c.cut {
		return fmt.Errorf("box %s is cut off", kind)
	}
	return nil
}

// readInfos reads the boxes infe.
func (m *heifItems) readInfos(body []byte) error {
	count := 0
	return boxes(body, func(kind string, body []byte) error {
		if count++; count > mostHEIFItems {
			return fmt.Errorf("the file has more than %d images", mostHEIFItems)
		}
		c := &cursor{data: body}
		version, _ := c.full()
		if kind != "infe" || version < 2 {
			return nil
		}
		id := c.either(version > 2)
		c.uint(2) // protection
		if kind := c.uint(4); !c.cut {
			m.types[id] = string(binary.BigEndian.AppendUint32(nil, uint32(kind)))
		}
		return nil
	})
}

// readPlaces reads the box iloc.
func (m *heifItems) readPlaces(c *cursor) error {
	version, _ := c.full()
	sizes := c.uint(2)
	offsets, lengths, bases, indices := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	n := c.either(version > 1)
	if n > mostHEIFItems {
		return fmt.Errorf("box iloc has %d images, want at most %d", n, mostHEIFItems)
	}
	for range n {
		id, method := c.either(version > 1), uint64(0)
		if version > 0 {
			method = c.uint(2) & 15
		}
		c.uint(2) // number of the file
		base := c.uint(bases)
		for range c.uint(2) {
			if version > 0 {
				c.uint(indices)
			}
			e := extent{method == 1, base + c.uint(offsets), c.uint(lengths)}
			if c.cut {
				return fmt.Errorf("box iloc is cut off")
			}
			if method <= 1 {
				m.extents[id] = append(m.extents[id], e)
			}
		}
	}
	return nil
}

// readProperties reads a box of the box iprp.
func (m *heifItems) readProperties(kind string, body []byte) error {
	switch kind {
	case "ipco":
		return boxes(body, func(kind string, body []byte) error {
			if m.properties = append(m.properties, property{kind, body}); len(m.properties) > mostHEIFProperties {
				return fmt.Errorf("the images have more than %d properties", mostHEIFProperties)
			}
			return nil
		})
	case "ipma":
		c := &cursor{data: body}
		version, flags := c.full()
		n := c.uint(4)
		if n > mostHEIFItems {
			return fmt.Errorf("box ipma has %d images, want at most %d", n, mostHEIFItems)
		}
		for range n {
			id := c.either(version > 0)
			for range c.uint(1) {
				if flags&1 != 0 {
					m.of[id] = append(m.of[id], int(c.uint(2)&0x7fff))
				} else {
					m.of[id] = append(m.of[id], int(c.uint(1)&0x7f))
				}
			}
		}
		if c.cut {
			return fmt.Errorf("box ipma is cut off")
		}
	}
	return nil
}

// checkSizes compares the size at which the codec will decode an image with a number of pixels, for
// the primary image and those that it needs. The codec does not know what the box ispe says.
func (m *heifItems) checkSizes(file []byte, needs references, pixels int) error {
	budget := 4*len(file) + 1<<20 // tiles share their properties
	todo, seen := []uint32{m.primary}, map[uint32]bool{m.primary: true}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, other := range needs[id] {
			if !seen[other] {
				seen[other] = true
				todo = append(todo, other)
			}
		}
		kind := m.types[id]
		if kind != "hvc1" && kind != "av01" {
			continue
		}
		data := m.content(file, id, &budget)
		for _, n := range m.of[id] {
			if n > 0 && n <= len(m.properties) {
				budget -= len(m.properties[n-1].body)
			}
		}
		if budget < 0 {
			return fmt.Errorf("the images share their data or properties many times")
		}
		if w, h := m.coded(kind, m.of[id], data); uint64(w) > uint64(pixels)/uint64(max(h, 1)) {
			return fmt.Errorf("%w: image %d is coded as %d×%d pixels, limit %d", ErrTooBig, id, w, h, pixels)
		}
	}
	return nil
}

// content returns the data of an item, and takes their size from the budget.
func (m *heifItems) content(file []byte, id uint32, budget *int) []byte {
	var parts [][]byte
	for _, e := range m.extents[id] {
		from := file
		if e.inside {
			from = m.idat
		}
		if e.offset > uint64(len(from)) {
			continue
		}
		part := from[e.offset:]
		if e.length > 0 && e.length < uint64(len(part)) {
			part = part[:e.length]
		}
		if *budget -= len(part); *budget < 0 {
			return nil
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, nil)
}

// coded returns the largest picture that the data of an item and the headers in its properties
// declare.
func (m *heifItems) coded(kind string, properties []int, data []byte) (w, h uint32) {
	largest := func(sw, sh uint32) {
		if uint64(sw)*uint64(sh) > uint64(w)*uint64(h) {
			w, h = sw, sh
		}
	}
	prefix := 4 // bytes of the length of a unit
	for _, n := range properties {
		if n < 1 || n > len(m.properties) {
			continue
		}
		switch p := m.properties[n-1]; {
		case p.kind == "av1C" && kind == "av01" && len(p.body) > 4:
			av1Sizes(p.body[4:], largest)
		case p.kind == "hvcC" && kind == "hvc1" && len(p.body) > 22:
			prefix = int(p.body[21]&3) + 1
			c := &cursor{data: p.body[23:]}
			for range p.body[22] {
				c.uint(1)
				for range c.uint(2) {
					unit := c.take(c.uint(2))
					hevcSize(unit, largest)
				}
			}
		}
	}
	if kind == "av01" {
		av1Sizes(data, largest)
		return w, h
	}
	for c := (&cursor{data: data}); len(c.data) > 0; {
		hevcSize(c.take(c.uint(prefix)), largest)
	}
	return w, h
}

// take returns the next bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.data)) {
		c.data, c.cut = nil, true
		return nil
	}
	part := c.data[:n]
	c.data = c.data[n:]
	return part
}

// bitReader reads bits, the highest of each byte first. Behind the end it reads zeros.
type bitReader struct {
	data []byte
	at   int
}

func (b *bitReader) read(n int) (v uint64) {
	for range n {
		v <<= 1
		if i := b.at >> 3; i < len(b.data) {
			v |= uint64(b.data[i]>>(7-b.at&7)) & 1
		}
		b.at++
	}
	return v
}

// golomb reads ue(v) of HEVC, which is uvlc() of AV1.
func (b *bitReader) golomb() uint64 {
	zeros := 0
	for zeros < 32 && b.read(1) == 0 {
		zeros++
	}
	return 1<<zeros - 1 + b.read(zeros)
}

// av1Sizes calls size for every sequence header among units of AV1 (AV1 specification, 5.3 and 5.5).
func av1Sizes(data []byte, size func(w, h uint32)) {
	const sequenceHeader = 1
	for len(data) > 0 {
		head := data[0]
		data = data[1:]
		if head&4 != 0 { // extension
			data = data[min(1, len(data)):]
		}
		unit := data
		if head&2 != 0 { // has a size, in groups of 7 bits
			n, used := binary.Uvarint(data)
			if used <= 0 || n > uint64(len(data)-used) {
				return
			}
			unit, data = data[used:][:n], data[used+int(n):]
		} else {
			data = nil
		}
		if head>>3&15 == sequenceHeader {
			size(av1Size(&bitReader{data: unit}))
		}
	}
}

// av1Size reads sequence_header_obu up to the size of the largest frame.
func av1Size(b *bitReader) (w, h uint32) {
	b.read(4)           // profile, still picture
	if b.read(1) != 0 { // reduced header
		b.read(5)
	} else {
		model, delay := false, 0
		if b.read(1) != 0 { // timing
			b.read(64)
			if b.read(1) != 0 {
				b.golomb()
			}
			if model = b.read(1) != 0; model {
				delay = int(b.read(5)) + 1
				b.read(32 + 5 + 5)
			}
		}
		initial := b.read(1) != 0
		for range b.read(5) + 1 {
			b.read(12)
			if b.read(5) > 7 {
				b.read(1)
			}
			if model && b.read(1) != 0 {
				b.read(2*delay + 1)
			}
			if initial && b.read(1) != 0 {
				b.read(4)
			}
		}
	}
	wide, high := int(b.read(4))+1, int(b.read(4))+1
	w = uint32(b.read(wide)) + 1
	return w, uint32(b.read(high)) + 1
}

// hevcSize calls size for a sequence parameter set (ITU-T H.265, 7.3.2.2). It ignores other units, and
// those of another layer than the first, which is the only one that is decoded.
func hevcSize(unit []byte, size func(w, h uint32)) {
	const parameterSet = 33
	if len(unit) < 3 || unit[0]>>1&63 != parameterSet || unit[0]&1 != 0 || unit[1]>>3 != 0 {
		return
	}
	b := &bitReader{data: bytes.ReplaceAll(unit[2:min(len(unit), 1024)], []byte{0, 0, 3}, []byte{0, 0})}
	b.read(4)
	layers := int(b.read(3))
	b.read(1 + 88 + 8) // profile and level
	profiles, levels := uint64(0), uint64(0)
	for range layers {
		profiles, levels = profiles<<1|b.read(1), levels<<1|b.read(1)
	}
	if layers > 0 {
		b.read(2 * (8 - layers))
	}
	b.read(88*bits.OnesCount64(profiles) + 8*bits.OnesCount64(levels))
	b.golomb()
	if b.golomb() == 3 {
		b.read(1)
	}
	w := uint32(b.golomb())
	size(w, uint32(b.golomb()))
}
