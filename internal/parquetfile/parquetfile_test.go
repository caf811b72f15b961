package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"hgld/internal/budget"
	"hgld/internal/testing/must"
)

// marshal encodes a struct of the format.
func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data := must.Get(thrift.Marshal(new(thrift.CompactProtocol), v))(t)
	return data
}

// oneColumn writes a file of one row group and one column, "x", with the given pages.
func oneColumn(t *testing.T, kind format.Type, codec format.CompressionCodec, rows int64, pages []byte) []byte {
	t.Helper()
	return column(t, kind, format.Required, codec, rows, pages)
}

// column is oneColumn for values that may be required or optional.
func column(t *testing.T, kind format.Type, repetition format.FieldRepetitionType, codec format.CompressionCodec,
	rows int64, pages []byte) []byte {
	t.Helper()
	file := append([]byte("PAR1"), pages...)
	footer := marshal(t, &format.FileMetaData{
		Version: 1, NumRows: rows,
		Schema: []format.SchemaElement{
			{Name: "root", NumChildren: thrift.New[int32](1)},
			{Name: "x", Type: thrift.New(kind), RepetitionType: thrift.New(repetition)},
		},
		RowGroups: []format.RowGroup{{NumRows: rows, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: kind, PathInSchema: []string{"x"}, Codec: codec, NumValues: rows, DataPageOffset: 4,
			TotalCompressedSize: int64(len(pages)), TotalUncompressedSize: int64(len(pages)),
			Encoding: []format.Encoding{format.Plain},
		}}}}},
	})
	return withFooter(file, footer)
}

func withFooter(file, footer []byte) []byte {
	file = append(file, footer...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
	return append(file, "PAR1"...)
}

// dataPage is a page of version 1.
func dataPage(t *testing.T, values int32, encoding format.Encoding, packed, unpacked int32, body []byte) []byte {
	t.Helper()
	return append(marshal(t, &format.PageHeader{
		Type: format.DataPage, CompressedPageSize: packed, UncompressedPageSize: unpacked,
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: values, Encoding: encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}),
	}), body...)
}

// dataPage2 is a page of version 2 with one value and levels of definition.
func dataPage2(t *testing.T, levels, body []byte) []byte {
	t.Helper()
	size := int32(len(levels) + len(body))
	return slices.Concat(marshal(t, &format.PageHeader{
		Type: format.DataPageV2, CompressedPageSize: size, UncompressedPageSize: size,
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: 1, NumRows: 1, Encoding: format.Plain,
			DefinitionLevelsByteLength: int32(len(levels))}),
	}), levels, body)
}

func dictionaryPage(t *testing.T, values int32, body []byte) []byte {
	t.Helper()
	return append(marshal(t, &format.PageHeader{
		Type: format.DictionaryPage, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(len(body)),
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: values, Encoding: format.Plain}),
	}), body...)
}

func zstdOf(t *testing.T, data []byte) []byte {
	t.Helper()
	w := must.Get(zstd.NewWriter(nil))(t)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// readAll reads every column of a file, and once more page by page.
func readAll(path string) (values []parquet.Value, err error) {
	p, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for _, leaf := range p.Leaves() {
		if err := p.Values(leaf, func(v parquet.Value, _ bool) error {
			values = append(values, v.Clone())
			return nil
		}); err != nil {
			return values, err
		}
		if leaf.Lists == 0 {
			if _, err := readByPage(p, leaf); err != nil {
				return values, err
			}
		}
	}
	return values, nil
}

// A header may declare any size; the allocated memory is bounded by the actual data.
func TestHugeDeclarationsAreNotAllocated(t *testing.T) {
	const huge = math.MaxInt32
	four := []byte{1, 0, 0, 0}
	list := func(field byte, kind byte) []byte { // a list of 2^31−1 elements in a struct that ends there
		return append([]byte{field<<4 | thriftList, 15<<4 | kind}, binary.AppendUvarint(nil, huge)...)
	}
	text := append([]byte{6<<4 | thriftBinary}, binary.AppendUvarint(nil, huge)...)
	runs := append([]byte{8}, append(binary.AppendUvarint(nil, huge-1), 0)...)
	levels := append(binary.AppendUvarint(nil, 1<<31), 1)
	sized := append([]byte{byte(len(levels)), 0, 0, 0}, levels...)
	noBits := append([]byte{0}, binary.AppendUvarint(nil, 1<<28|1)...)
	differences := slices.Concat(binary.AppendUvarint(nil, 128), []byte{4}, binary.AppendUvarint(nil, huge), []byte{0})
	prefixes := slices.Concat( // 2,000 texts of 128 KiB each, in a few hundred bytes
		binary.AppendUvarint(nil, 128), []byte{4}, binary.AppendUvarint(nil, 100_000), binary.AppendVarint(nil, 1<<20),
		bytes.Repeat([]byte{0, 0, 0, 0, 0}, 1000))
	bomb := zstdOf(t, make([]byte, 512<<20))
	structs := list(4, thriftStruct)[:2]
	many := bytes.Repeat([]byte{0}, 8<<20)
	numbers := func(codec format.CompressionCodec, pages ...[]byte) []byte {
		return oneColumn(t, format.Int32, codec, 1, slices.Concat(pages...))
	}
	page := func(encoding format.Encoding, body []byte) []byte {
		return dataPage(t, 1, encoding, int32(len(body)), int32(len(body)), body)
	}
	bare := oneColumn(t, format.Int32, format.Uncompressed, 1, dataPage(t, 1, format.Plain, 4, 4, four))
	for name, file := range map[string][]byte{
		"footer longer than the file": slices.Concat(bare[:len(bare)-8], []byte{255, 255, 255, 255}, []byte("PAR1")),
		"list in the footer":          withFooter([]byte("PAR1"), list(4, thriftStruct)),
		"texts in the footer":         withFooter([]byte("PAR1"), list(2, thriftBinary)),
		"text in the footer":          withFooter([]byte("PAR1"), text),
		"structs of a byte each": withFooter([]byte("PAR1"),
			slices.Concat(structs, binary.AppendUvarint(nil, 8<<20), many)),
		"packed page": numbers(format.Uncompressed, dataPage(t, 1, format.Plain, huge, 4, four)),
		"page":        numbers(format.Snappy, dataPage(t, 1, format.Plain, 4, huge, four)),
		"page within the bound": numbers(format.Snappy, dataPage(t, 1, format.Plain, 5, budget.Page,
			append(binary.AppendUvarint(nil, budget.Page), 0))),
		"values":     oneColumn(t, format.ByteArray, format.Uncompressed, huge, dataPage(t, huge, format.Plain, 4, 4, four)),
		"dictionary": oneColumn(t, format.ByteArray, format.Uncompressed, 1, dictionaryPage(t, huge, four)),
		"statistics": numbers(format.Uncompressed, []byte{1<<4 | thriftI32, 0, 1<<4 | thriftI32, 8, 1<<4 | thriftI32, 8,
			2<<4 | thriftStruct, 5<<4 | thriftStruct}, text),
		"unpacks to more":    numbers(format.Zstd, dataPage(t, 1, format.Plain, int32(len(bomb)), 4, bomb)),
		"runs of indices":    numbers(format.Uncompressed, dictionaryPage(t, 1, four), page(format.RLEDictionary, runs)),
		"indices of no bits": numbers(format.Uncompressed, dictionaryPage(t, 1, four), page(format.RLEDictionary, noBits)),
		"levels of version 1": column(t, format.Int32, format.Optional, format.Uncompressed, 1,
			page(format.Plain, slices.Concat(sized, four))),
		"levels of version 2": column(t, format.Int32, format.Optional, format.Uncompressed, 1, dataPage2(t, levels, four)),
		"booleans":            oneColumn(t, format.Boolean, format.Uncompressed, 1, page(format.RLE, sized)),
		"lengths": oneColumn(t, format.ByteArray, format.Uncompressed, 1,
			page(format.DeltaLengthByteArray, differences)),
		"suffixes": oneColumn(t, format.ByteArray, format.Uncompressed, 1, page(format.DeltaByteArray,
			slices.Concat(binary.AppendUvarint(nil, 128), []byte{4, 1, 0}, differences))),
		"differences": numbers(format.Uncompressed, page(format.DeltaBinaryPacked, differences)),
		"prefixes": oneColumn(t, format.ByteArray, format.Uncompressed, 100_000,
			dataPage(t, 100_000, format.DeltaByteArray, int32(len(prefixes)), int32(len(prefixes)), prefixes)),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "huge.parquet")
			must.Do(t, os.WriteFile(path, file, 0o644))
			file = nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readAll(path)
			runtime.ReadMemStats(&after)
			if !errors.As(err, new(*FormatError)) {
				t.Errorf("%v, want a *FormatError", err)
			}
			const most = 64 << 20 // the files have up to 8 MiB, of which reading makes some copies
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%d MiB were allocated, want %d at most: %v", n>>20, most>>20, err)
			}
		})
	}
}

type row struct {
	ID     string    `parquet:"id"`
	Class  *string   `parquet:"class,optional,dict"`
	Number int64     `parquet:"number,delta"`
	Vector []float32 `parquet:"vector,list"`
}

func someRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{ID: fmt.Sprintf("image-%04d", i), Number: int64(i * i),
			Vector: []float32{float32(i), 0, 0, float32(-i)}}
		if i%3 > 0 {
			rows[i].Class = new(fmt.Sprint("class ", i%5))
		}
	}
	return rows
}

// The reader accepts what the library writes, with any compression and both versions of pages.
func TestValidFilesAreRead(t *testing.T) {
	rows := someRows(3000)
	for _, codec := range []compress.Codec{
		&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli,
	} {
		for version := 1; version <= 2; version++ {
			path := filepath.Join(t.TempDir(), "sound.parquet")
			if err := parquet.WriteFile(path, rows, parquet.Compression(codec), parquet.DataPageVersion(version),
				parquet.PageBufferSize(4096)); err != nil {
				t.Fatal(err)
			}
			values, err := readAll(path)
			if err != nil {
				t.Fatalf("%v, version %d: %v", codec, version, err)
			}
			if want := len(rows) * 7; len(values) != want {
				t.Errorf("%v, version %d: %d values, want %d", codec, version, len(values), want)
			}
			if got := values[17].String(); got != "class 2" && got != "image-0017" {
				t.Errorf("%v, version %d: the 17th value is %q", codec, version, got)
			}
		}
	}
}

// The library decompresses LZ4 to other bytes than were compressed.
func TestLZ4IsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lz4.parquet")
	must.Do(t, parquet.WriteFile(path, someRows(10), parquet.Compression(&parquet.Lz4Raw)))
	if _, err := readAll(path); err == nil || !strings.Contains(err.Error(), "LZ4_RAW, which hgld does not read") {
		t.Error(err)
	}
}

// Texts with a common beginning are read, too.
func TestPrefixesAreRead(t *testing.T) {
	type text struct {
		Text string `parquet:"text,delta"`
	}
	rows := make([]text, 1000)
	for i := range rows {
		rows[i].Text = strings.Repeat("a", i%40) + fmt.Sprint(i)
	}
	path := filepath.Join(t.TempDir(), "prefixes.parquet")
	must.Do(t, parquet.WriteFile(path, rows))
	values, err := readAll(path)
	if err != nil || len(values) != len(rows) || values[999].String() != rows[999].Text {
		t.Errorf("%d values, %v", len(values), err)
	}
}

// A file that is changed anywhere gives values or an error. It causes no panic, and no memory use
// beyond the bounds.
func TestDamagedFilesAreErrors(t *testing.T) {
	var whole bytes.Buffer
	must.Do(t, parquet.Write(&whole, someRows(40), parquet.Compression(&parquet.Zstd)))
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	check := func(data []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path, data, 0o644))
		if _, err := readAll(path); err != nil && !errors.As(err, new(*FormatError)) {
			t.Errorf("%v, want a *FormatError", err)
		}
	}
	for n := 0; n < whole.Len(); n += 7 {
		check(whole.Bytes()[:n])
	}
	for at := range whole.Len() {
		for _, bit := range []byte{1, 0x80} {
			data := bytes.Clone(whole.Bytes())
			data[at] ^= bit
			check(data)
		}
	}
}

// A struct of the format is at most as large as the bound for the footer assumes.
func TestMemoryBoundCoversTheStructs(t *testing.T) {
	for _, size := range []int64{sizeOf[format.RowGroup](), sizeOf[format.ColumnChunk](), sizeOf[format.SchemaElement](),
		sizeOf[format.KeyValue](), sizeOf[format.PageEncodingStats](), sizeOf[format.SortingColumn]()} {
		if size > goSize(thriftStruct) {
			t.Errorf("a struct has %d bytes, want %d at most", size, goSize(thriftStruct))
		}
	}
}
