package shards

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// index is the sidecar of a shard. With it, a row's image is one read at a known place,
// without parsing Parquet. The file is little-endian:
//
//	 0  "HGLDIDX1"
//	 8  uint32 levels L, uint32 CRC-32C of the shard
//	16  uint64 rows N, uint64 bytes of the shard
//	32  SHA-256 of the shard
//	64  N × uint64 offset of the image in the shard
//	    N × uint32 length of the image
//	    N × uint32 CRC-32C of the image
//	    N × uint64 image id
//	    N × L × int32 classes, finest first, −1 for none
//	    uint32 CRC-32C of all bytes before
//
// All of it can be derived from the shard: readIndex checks it against the shard's size
// and hash, and rebuildIndex writes it again.
type index struct {
	levels     int
	shardCRC   uint32
	shardBytes int64
	shardSHA   [32]byte
	offsets    []int64
	lengths    []uint32
	crcs       []uint32
	ids        []ImageID
	classes    []int32
}

const (
	indexMagic  = "HGLDIDX1"
	indexHeader = 64
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// indexName returns the name of a shard's sidecar.
func indexName(shard string) string { return strings.TrimSuffix(shard, ".parquet") + ".idx" }

func (x *index) rows() int { return len(x.offsets) }

// add appends a row. Its offset is set when the shard is complete.
func (x *index) add(r *Row) {
	x.offsets = append(x.offsets, 0)
	x.lengths = append(x.lengths, uint32(len(r.Image)))
	x.crcs = append(x.crcs, crc32.Checksum(r.Image, castagnoli()))
	x.ids = append(x.ids, r.ID)
	x.classes = append(x.classes, r.Labels...)
}

func (x *index) encode() []byte {
	le := binary.LittleEndian
	out := make([]byte, 0, indexHeader+x.rows()*(24+4*x.levels)+4)
	out = append(out, indexMagic...)
	out = le.AppendUint32(out, uint32(x.levels))
	out = le.AppendUint32(out, x.shardCRC)
	out = le.AppendUint64(out, uint64(x.rows()))
	out = le.AppendUint64(out, uint64(x.shardBytes))
	out = append(out, x.shardSHA[:]...)
	for _, v := range x.offsets {
		out = le.AppendUint64(out, uint64(v))
	}
	for _, v := range x.lengths {
		out = le.AppendUint32(out, v)
	}
	for _, v := range x.crcs {
		out = le.AppendUint32(out, v)
	}
	for _, v := range x.ids {
		out = le.AppendUint64(out, uint64(v))
	}
	for _, v := range x.classes {
		out = le.AppendUint32(out, uint32(v))
	}
	return le.AppendUint32(out, crc32.Checksum(out, castagnoli()))
}

// decodeIndex reads a sidecar. It checks that the sidecar is complete and that the
// images lie within the shard, in order and without overlap.
func decodeIndex(data []byte) (*index, error) {
	le := binary.LittleEndian
	if len(data) < indexHeader+4 || string(data[:8]) != indexMagic {
		return nil, errors.New("not an index of a shard")
	}
	body, sum := data[:len(data)-4], le.Uint32(data[len(data)-4:])
	if got := crc32.Checksum(body, castagnoli()); got != sum {
		return nil, fmt.Errorf("checksum %08x, want %08x", got, sum)
	}
	x := &index{levels: int(le.Uint32(data[8:])), shardCRC: le.Uint32(data[12:]), shardBytes: int64(le.Uint64(data[24:]))}
	copy(x.shardSHA[:], data[32:64])
	rows := le.Uint64(data[16:])
	perRow := uint64(24 + 4*x.levels)
	if rest := uint64(len(body) - indexHeader); x.levels < 1 || x.levels > 1000 || rest%perRow != 0 || rest/perRow != rows {
		return nil, fmt.Errorf("%d bytes for %d rows of %d levels", len(data), rows, x.levels)
	}
	n := int(rows)
	at := body[indexHeader:]
	x.offsets, x.lengths, x.crcs, x.ids, x.classes = make([]int64, n), make([]uint32, n), make([]uint32, n), make([]ImageID, n), make([]int32, n*x.levels)
	take := func(size int) []byte {
		v := at[:size]
		at = at[size:]
		return v
	}
	end := int64(0)
	for i := range n {
		x.offsets[i] = int64(le.Uint64(take(8)))
	}
	for i := range n {
		x.lengths[i] = le.Uint32(take(4))
		if x.offsets[i] < end || x.offsets[i] > x.shardBytes-int64(x.lengths[i]) {
			return nil, fmt.Errorf("row %d: image at %d, %d bytes, in a shard of %d", i, x.offsets[i], x.lengths[i], x.shardBytes)
		}
		end = x.offsets[i] + int64(x.lengths[i])
	}
	for i := range n {
		x.crcs[i] = le.Uint32(take(4))
	}
	for i := range n {
		x.ids[i] = ImageID(le.Uint64(take(8)))
	}
	for i := range x.classes {
		x.classes[i] = int32(le.Uint32(take(4)))
		if x.classes[i] < -1 {
			return nil, fmt.Errorf("row %d: class %d", i/x.levels, x.classes[i])
		}
	}
	return x, nil
}

// equal reports whether two indexes of a shard agree.
func (x *index) equal(y *index) bool { return bytes.Equal(x.encode(), y.encode()) }

// path returns the classes of a row.
func (x *index) path(row int) []int32 {
	return slices.Clip(x.classes[row*x.levels : (row+1)*x.levels])
}
