package img

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"hgld/internal/img/child"
)

// heifInChild decodes with libheif in child processes, since libheif reads strangers' bytes. An image that
// ends a child, takes too long or too much memory is an error like that of a damaged image.
type heifInChild struct {
	*heif // its version and formats
	pool  *child.Pool

	headerTime time.Duration // heifHeaderTime
}

// heifChildVariable is set in a child. Its value is the library.
const heifChildVariable = "HGLD_DECODES_WITH"

// ServeAsChild decodes for another process of this program, if this one was started for that, and returns
// true at the end. A program calls it first. Without it, it decodes no HEIC and AVIF.
func ServeAsChild() bool {
	path, is := os.LookupEnv(heifChildVariable)
	if !is {
		child.Allow()
		return false
	}
	lib, err := openHEIF(path)
	if err == nil {
		err = child.Serve(lib.work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}

// heifPools has the children of this process by library, shared by all decoders.
var heifPools struct {
	sync.Mutex
	of map[string]*child.Pool
}

func inChild(lib *heif) heifInChild {
	heifPools.Lock()
	defer heifPools.Unlock()
	if heifPools.of == nil {
		heifPools.of = map[string]*child.Pool{}
	}
	pool := heifPools.of[lib.path]
	if pool == nil {
		pool = child.NewPool(heifChildVariable + "=" + lib.path)
		heifPools.of[lib.path] = pool
	}
	return heifInChild{lib, pool, heifHeaderTime}
}

// heifTask is the head of a task. With Decode, the answer is the pixels of the image of the header, else its
// header.
type heifTask struct {
	Decode bool
	Pixels int64 // the limit of InspectHEIF
	Header heifWire
}

// heifWire is a HEIFHeader.
type heifWire struct {
	W, H, Stored int64
	Bits         int32
	Alpha        bool
}

func (w heifWire) header() HEIFHeader {
	return HEIFHeader{W: int(w.W), H: int(w.H), Stored: int(w.Stored), Bits: int(w.Bits), Alpha: w.Alpha}
}

func wireHEIF(h HEIFHeader) heifWire {
	return heifWire{int64(h.W), int64(h.H), int64(h.Stored), int32(h.Bits), h.Alpha}
}

// tooBigHEIF is the code of a failure that is ErrTooBig.
const tooBigHEIF = 1

// work does a task in a child. Pixels go from the library to the parent row by row.
func (h *heif) work(head, data []byte, answer func(size int) io.Writer) (err error) {
	defer func() {
		if errors.Is(err, ErrTooBig) {
			err = &child.Failure{Code: tooBigHEIF, Text: err.Error()}
		}
	}()
	var t heifTask
	if err := binary.Read(bytes.NewReader(head), binary.BigEndian, &t); err != nil {
		return err
	}
	if !t.Decode {
		header, err := h.inspect(data, int(t.Pixels))
		if err != nil {
			return err
		}
		return binary.Write(answer(binary.Size(heifWire{})), binary.BigEndian, wireHEIF(header))
	}
	want := t.Header.header()
	var to io.Writer
	return h.decodeRows(data, want, func(row []byte) error {
		if to == nil {
			to = answer(3 * want.W * want.H)
		}
		_, err := to.Write(row)
		return err
	})
}

// Time that a child has for a header, and for an image: more than slow machines with much to do need.
const (
	heifHeaderTime = 30 * time.Second
	heifPixelTime  = 2 * time.Microsecond // added for each pixel
)

// do gives a task to a child.
func (h heifInChild) do(t heifTask, data []byte, memory int64, answer []byte) error {
	head := new(bytes.Buffer)
	if err := binary.Write(head, binary.BigEndian, t); err != nil {
		return err
	}
	err := h.pool.Do(child.Task{Head: head.Bytes(), Data: data, Memory: memory,
		Deadline: h.headerTime + time.Duration(t.Header.Stored)*heifPixelTime}, answer)
	var failure *child.Failure
	if errors.As(err, &failure) && failure.Code == tooBigHEIF {
		return tooBig(failure.Text)
	}
	return err
}

// tooBig is an ErrTooBig with a text that a child wrote.
type tooBig string

func (e tooBig) Error() string { return string(e) }
func (e tooBig) Unwrap() error { return ErrTooBig }

// InspectHEIF implements HEIFDecoder.
func (h heifInChild) InspectHEIF(data []byte, pixels int) (HEIFHeader, error) {
	answer := make([]byte, binary.Size(heifWire{}))
	if err := h.do(heifTask{Pixels: int64(pixels)}, data, 0, answer); err != nil {
		return HEIFHeader{}, err
	}
	var wire heifWire
	if err := binary.Read(bytes.NewReader(answer), binary.BigEndian, &wire); err != nil {
		return HEIFHeader{}, err
	}
	got := wire.header()
	if got.W <= 0 || got.H <= 0 || got.W > pixels/got.H || got.Stored < got.W*got.H || got.Stored > pixels {
		return HEIFHeader{}, fmt.Errorf("the decoder answers a size of %d×%d", got.W, got.H)
	}
	return got, nil
}

// DecodeHEIF implements HEIFDecoder.
func (h heifInChild) DecodeHEIF(data []byte, want HEIFHeader) (*RGB, error) {
	m := NewRGB(want.W, want.H)
	// Decoders reserve more than they use, and keep several frames. This stops what has no limit; a limit
	// that is close would refuse sound images.
	memory := 4 * int64(want.bytesPerPixel()*float64(want.Stored))
	if err := h.do(heifTask{Decode: true, Header: wireHEIF(want)}, data, memory, m.Pix); err != nil {
		return nil, err
	}
	return m, nil
}
