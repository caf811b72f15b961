package dataset

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is an archive, and a part of the error that it must cause.
type hostile struct {
	data []byte
	want string
}

// hostileZips are archives that try to read or write elsewhere, or to use many resources.
func hostileZips(t *testing.T) map[string]hostile {
	all := map[string]hostile{}
	one := func(h zip.FileHeader, body string) []byte {
		var buf bytes.Buffer
		w := zip.NewWriter(&buf)
		f, err := w.CreateHeader(&h)
		if err == nil {
			_, err = io.WriteString(f, body)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	for _, c := range []struct{ name, want string }{
		{"../../etc/cron.d/x", "."}, {"a/../../x", "."}, {"/etc/passwd", "absolute"}, {"C:/windows/x", "absolute"},
		{`..\..\x`, `\`}, {"a//b", "empty"}, {"a/./b", "."}, {"x\x00.jpg", "NUL"},
	} {
		all["name "+c.name] = hostile{one(zip.FileHeader{Name: c.name}, "x"), c.want}
	}
	for _, c := range []struct {
		mode fs.FileMode
		want string
	}{{fs.ModeSymlink, "symbolic link"}, {fs.ModeDevice, "device"}, {fs.ModeDevice | fs.ModeCharDevice, "device"},
		{fs.ModeNamedPipe, "named pipe"}, {fs.ModeSocket, "socket"}} {
		h := zip.FileHeader{Name: "a.jpg"}
		h.SetMode(c.mode | 0o644)
		all["mode "+c.mode.String()] = hostile{one(h, "/etc/passwd"), c.want}
	}
	twice := bytes.ReplaceAll(tree{"a.jpg": "x", "b.jpg": "y"}.bytes(t), []byte("b.jpg"), []byte("a.jpg"))
	all["twice"] = hostile{twice, "twice"}
	plain := one(zip.FileHeader{Name: "a.jpg"}, "x")
	central := bytes.LastIndex(plain, []byte("PK\x01\x02"))
	encrypted := bytes.Clone(plain)
	encrypted[central+8] |= 1
	all["encrypted"] = hostile{encrypted, "encrypted"}
	method := bytes.Clone(plain)
	method[central+10] = 14
	all["method"] = hostile{method, "method 14"}
	many := bytes.Clone(plain)
	end := bytes.LastIndex(many, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(many[end+8:], 65000)
	binary.LittleEndian.PutUint16(many[end+10:], 65000)
	all["count"] = hostile{many, "zip"}
	all["cut"] = hostile{plain[:len(plain)/2], "zip"}
	all["empty"] = hostile{nil, "zip"}
	return all
}

func (files tree) bytes(t *testing.T) []byte {
	data, err := os.ReadFile(files.zip(t))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHostileZipsAreRefused(t *testing.T) {
	for name, c := range hostileZips(t) {
		file := filepath.Join(t.TempDir(), "images.zip")
		if err := os.WriteFile(file, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := openStore(t.Context(), file)
		t.Log(name, err)
		wantError(t, err, "images.zip", c.want)
	}
}

// TestHostileTarsAreRefused writes a header for each kind of special member, and for names that
// lead out of the folder.
func TestHostileTarsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		header tar.Header
		change func([]byte) []byte
		want   string
	}{
		"traversal":    {tar.Header{Name: "../x.jpg"}, nil, "."},
		"inside out":   {tar.Header{Name: "a/../../x.jpg"}, nil, "."},
		"absolute":     {tar.Header{Name: "/etc/passwd"}, nil, "absolute"},
		"not UTF-8":    {tar.Header{Name: "caf\xe9.jpg"}, nil, "not UTF-8"},
		"backslash":    {tar.Header{Name: `..\x.jpg`}, nil, `\`},
		"symlink":      {tar.Header{Name: "a.jpg", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil, "symbolic link"},
		"hard link":    {tar.Header{Name: "a.jpg", Typeflag: tar.TypeLink, Linkname: "b.jpg"}, nil, "hard link"},
		"char device":  {tar.Header{Name: "a.jpg", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}, nil, "device"},
		"block device": {tar.Header{Name: "a.jpg", Typeflag: tar.TypeBlock}, nil, "device"},
		"fifo":         {tar.Header{Name: "a.jpg", Typeflag: tar.TypeFifo}, nil, "named pipe"},
		"size beyond":  {tar.Header{Name: "a.jpg", Size: 1 << 40, Format: tar.FormatGNU}, nil, "archive ends"},
		"cut header":   {tar.Header{Name: "a.jpg"}, func(b []byte) []byte { return b[:300] }, "member 0"},
		"checksum":     {tar.Header{Name: "a.jpg"}, func(b []byte) []byte { b[0] = 'b'; return b }, "member 0"},
		"sparse": {tar.Header{Name: "a.jpg", PAXRecords: map[string]string{"comment": "x"}}, func(b []byte) []byte {
			return bytes.Replace(b, []byte("13 comment=x\n"), []byte("13 GNU.sparse"), 1)
		}, "member 0"},
	} {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		c.header.Mode = 0o644
		if err := w.WriteHeader(&c.header); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		buf.Write(make([]byte, 1024))
		data := buf.Bytes()
		if c.change != nil {
			data = c.change(data)
		}
		file := filepath.Join(t.TempDir(), "images.tar")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := openStore(t.Context(), file)
		t.Log(name, err)
		wantError(t, err, "images.tar", c.want)
	}
}

func TestCutZipIsRefused(t *testing.T) {
	whole := tree{"a.jpg": "a", "b.jpg": "b"}.bytes(t)
	file := filepath.Join(t.TempDir(), "images.zip")
	for _, n := range []int{len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(file, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := openStore(t.Context(), file)
		wantError(t, err, "images.zip", "cut short", "download it again")
	}
}

// An archive that was truncated between two members, or within one, lacks images. It must end with
// one or two empty blocks; other data may follow.
func TestCutTarIsRefused(t *testing.T) {
	files := tree{"a.jpg": strings.Repeat("a", 700), "b.jpg": strings.Repeat("b", 512), "c.jpg": "", "d.jpg": "d"}
	whole, err := os.ReadFile(files.tar(t))
	if err != nil {
		t.Fatal(err)
	}
	blocks := []int{512 + 1024, 512 + 512, 512, 512 + 512} // of each member
	members := 0
	for _, n := range blocks {
		members += n
	}
	if len(whole) != members+1024 {
		t.Fatalf("the archive has %d bytes, want %d and two blocks", len(whole), members)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	try := func(data []byte) error {
		t.Helper()
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(t.Context(), file)
		if err != nil {
			return err
		}
		return s.Close()
	}
	end := 0
	wantError(t, try(nil), "images.tar", "cut short")
	for _, n := range blocks {
		end += n
		wantError(t, try(whole[:end]), "images.tar", "cut short", "again")
		if err := try(whole[:end-1]); err == nil {
			t.Errorf("cut at byte %d of %d: no error", end-1, len(whole))
		}
	}
	for _, sound := range [][]byte{whole, whole[:members+512], append(whole, make([]byte, 8192)...)} {
		if err := try(sound); err != nil {
			t.Errorf("%d bytes of %d members: %v", len(sound), len(blocks), err)
		}
	}
}

// Members that expand a thousandfold, declare a wrong size or have a wrong checksum cost one row
// each.
func TestBombsInArchivesAreFailures(t *testing.T) {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	sum := crc32.NewIEEE()
	for range 200 {
		sum.Write(zeros)
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, size := range map[string]uint64{"honest.jpg": 200 << 20, "liar.jpg": 10, "huge.jpg": 1 << 63} {
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum.Sum32(),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: size})
		if err == nil {
			_, err = f.Write(packed.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	good := picture(t, 1)
	for name, crc := range map[string]uint32{"wrong.jpg": 1, "good.jpg": crc32.ChecksumIEEE(good)} {
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, CRC32: crc, CompressedSize64: uint64(len(good)),
			UncompressedSize64: uint64(len(good))})
		if err == nil {
			_, err = f.Write(good)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := tree{"images.zip": buf.String(),
		"t.csv": "path,level_0\nhonest.jpg,a\nliar.jpg,a\nhuge.jpg,a\nwrong.jpg,a\ngood.jpg,a\n"}.folder(t)
	r := build(t, CSV{}, Settings{Input: filepath.Join(dir, "t.csv"), Images: filepath.Join(dir, "images.zip")})
	var got []string
	for _, f := range r.Failures {
		got = append(got, fmt.Sprintf("%s %s", f.Path, f.Class))
	}
	want := []string{"honest.jpg too big", "liar.jpg read", "huge.jpg too big", "wrong.jpg hash"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || r.Manifest.Files[0].Rows != 1 {
		t.Errorf("failures %v, want %v; %d rows", r.Failures, want, r.Manifest.Files[0].Rows)
	}
}
