package parquetfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"hgld/internal/budget"
)

// snappyRatio bounds what a byte can stand for: Snappy copies 64 bytes by 3. What a
// short block declares beyond that need not be allocated.
const snappyRatio = 32

// plainDictionary is the encoding PLAIN_DICTIONARY, by which old writers mark indices into
// a dictionary.
const plainDictionary format.Encoding = 2

// unpack undoes the compression of a page that declares size bytes. It allocates no more
// than the data can fill, whatever they declare. LZ4 is refused: version 0.32.0 of the
// library returns other bytes than those of the page where a page shrinks to more than a
// third, and never ends on a damaged one.
func unpack(codec format.CompressionCodec, data []byte, size int64) ([]byte, error) {
	var out []byte
	var err error
	switch codec {
	case format.Uncompressed:
		out = data
	case format.Snappy:
		n, err := snappy.DecodedLen(data)
		if err != nil || int64(n) != size || size > snappyRatio*int64(len(data)) {
			return nil, fmt.Errorf("it declares %d bytes unpacked, and its %d bytes do not hold them", size, len(data))
		}
		if out, err = snappy.Decode(nil, data); err != nil {
			return nil, err
		}
	case format.Gzip, format.Zstd, format.Brotli:
		out, err = unpackStream(codec, data, size)
	default:
		return nil, fmt.Errorf("it is packed by %v, which hgld does not read; write it with snappy or zstd", codec)
	}
	if err == nil && int64(len(out)) != size {
		err = fmt.Errorf("it unpacks to %d bytes, want %d", len(out), size)
	}
	return out, err
}

// unpackStream reads one byte more than size at most.
func unpackStream(codec format.CompressionCodec, data []byte, size int64) ([]byte, error) {
	var in io.Reader
	switch codec {
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		in = z
	case format.Zstd:
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(budget.Page))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	default:
		in = brotli.NewReader(bytes.NewReader(data))
	}
	var out bytes.Buffer
	_, err := io.Copy(&out, io.LimitReader(in, size+1))
	return out.Bytes(), err
}

// The functions below read the lengths within a page before the library decodes it. The library
// allocates what runs, differences and prefixes declare, and looks at the number of values only
// then. A process that asks for more memory than there is ends: that is no panic that [Recover]
// could turn into an error. On files of 100 to 200 bytes, version 0.32.0 took:
//
//	levels                  4.5 GiB
//	indices of a dictionary 8 GiB; of no bits, minutes
//	booleans                256 MiB
//	differences             8 GiB, of numbers and of the lengths of texts
//	prefixes of texts       1.2 GiB
//
// It compares the lengths of texts themselves with the page, so these are not added up here.

// checkLevels compares the lengths of runs of levels up to most with the number of
// values.
func checkLevels(data []byte, most int, values, encoding int64) error {
	if most == 0 || format.Encoding(encoding) != format.RLE {
		return nil // other encodings have a fixed number of bits for each level
	}
	return checkRuns(data, bits.Len(uint(most)), values)
}

// checkValues compares the lengths within encoded values with their number.
func checkValues(data []byte, values, encoding int64) error {
	switch format.Encoding(encoding) {
	case plainDictionary, format.RLEDictionary:
		if len(data) == 0 {
			return nil
		}
		return checkRuns(data[1:], int(data[0]), values)
	case format.RLE: // of booleans
		return checkRuns(data[min(4, len(data)):], 1, values)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := readDelta(data, values)
		return err
	case format.DeltaByteArray: // the lengths of prefixes, and the rest of each text
		prefixes, err := readDelta(data, values)
		if err != nil {
			return err
		}
		rest, err := prefixes.checkSum()
		if err == nil {
			_, err = readDelta(rest, values)
		}
		return err
	}
	return nil // every other value has bytes of its own
}

// checkRuns adds up the runs of the hybrid encoding of Parquet: a value of width bits
// that repeats, or eights of packed ones. The last eight may be filled up.
func checkRuns(data []byte, width int, values int64) error {
	if width > 32 {
		return fmt.Errorf("its values have %d bits, want 32 at most", width)
	}
	most, total := uint64(values)+8, uint64(0)
	for len(data) > 0 {
		u, n := binary.Uvarint(data)
		if n <= 0 {
			return errors.New("its runs are cut short")
		}
		data = data[n:]
		count, size := u>>1, uint64(width+7)/8
		if u&1 != 0 {
			count, size = 8*min(u>>1, most), min(u>>1, most)*uint64(width)
		}
		if total += count; count > most || total > most {
			return fmt.Errorf("its runs have more than %d values", values)
		}
		data = data[min(size, uint64(len(data))):]
	}
	return nil
}

// delta is the header of numbers that are stored as differences.
type delta struct {
	blockValues, miniBlocks, values uint64
	first                           int64
	rest                            []byte
}

// maxDeltaBlock bounds the values of a block, as the library does.
const maxDeltaBlock = 1 << 16

// readDelta reads the header of at most this number of values.
func readDelta(data []byte, values int64) (d delta, err error) {
	for _, v := range []*uint64{&d.blockValues, &d.miniBlocks, &d.values} {
		u, n := binary.Uvarint(data)
		if n <= 0 {
			return d, errors.New("its differences are cut short")
		}
		*v, data = u, data[n:]
	}
	first, n := binary.Varint(data)
	if n <= 0 || d.miniBlocks == 0 || d.blockValues > maxDeltaBlock || d.blockValues%d.miniBlocks != 0 ||
		d.blockValues/d.miniBlocks%8 != 0 {
		return d, fmt.Errorf("its differences come in blocks of %d, cut into %d", d.blockValues, d.miniBlocks)
	}
	if d.values > uint64(values) {
		return d, fmt.Errorf("its differences are %d, want %d", d.values, values)
	}
	d.first, d.rest = first, data[n:]
	return d, nil
}

// checkSum bounds the sum of the numbers, which are lengths of prefixes: a few bytes can stand
// for any number of texts each of which begins with a part of the one before. It returns what
// lies behind the numbers.
func (d *delta) checkSum() (rest []byte, err error) {
	if d.values == 0 {
		return d.rest, nil
	}
	cut := errors.New("its lengths are cut short")
	data, last, sum := d.rest, d.first, int64(0)
	add := func(v int64) error {
		if sum += v; v < 0 || v > budget.Page || sum > budget.Page {
			return fmt.Errorf("its texts have more than %d bytes", budget.Page)
		}
		return nil
	}
	if err := add(last); err != nil {
		return nil, err
	}
	each := d.blockValues / d.miniBlocks
	for left := d.values - 1; left > 0; {
		least, n := binary.Varint(data)
		if n <= 0 || uint64(len(data)-n) < d.miniBlocks {
			return nil, cut
		}
		widths := data[n : n+int(d.miniBlocks)]
		data = data[n+int(d.miniBlocks):]
		for _, width := range widths {
			if left == 0 {
				break
			}
			if width > 64 {
				return nil, cut
			}
			for i := range min(each, left) {
				last += least + int64(packed(data, i*uint64(width), int(width)))
				if err := add(last); err != nil {
					return nil, err
				}
			}
			left -= min(each, left)
			data = data[min(each*uint64(width)/8, uint64(len(data))):]
		}
	}
	return data, nil
}

// packed returns the number of width bits that begins at a bit. Some writers leave out
// the zeros at the end.
func packed(data []byte, bit uint64, width int) (v uint64) {
	for i := range width {
		if at := bit + uint64(i); at/8 < uint64(len(data)) {
			v |= uint64(data[at/8]>>(at%8)&1) << i
		}
	}
	return v
}
