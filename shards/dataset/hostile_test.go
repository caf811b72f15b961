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
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
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
		must.Do(t, errors.Join(err, w.Close()))
		return buf.Bytes()
	}
	for _, c := range []struct{ name, want string }{
		{"../../etc/cron.d/x", "."}, {"a/../../x", "."}, {"/etc/passwd", "absolute"}, {"C:/windows/x", "absolute"},
		{`..\..\x`, `\`}, {"a//b", "empty"}, {"a/./b", "."}, {"x\x00.jpg", "NUL"},
	} {
		all["name "+c.name] = hostile{one(zip.FileHeader{Name: c.name}, "x"), c.want}
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
	data := must.Get(os.ReadFile(files.zip(t)))(t)
	return data
}

func TestHostileZipsAreRefused(t *testing.T) {
	for name, c := range hostileZips(t) {
		file := filepath.Join(t.TempDir(), "images.zip")
		must.Do(t, os.WriteFile(file, c.data, 0o644))
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
		"traversal":   {tar.Header{Name: "../x.jpg"}, nil, "."},
		"inside out":  {tar.Header{Name: "a/../../x.jpg"}, nil, "."},
		"absolute":    {tar.Header{Name: "/etc/passwd"}, nil, "absolute"},
		"not UTF-8":   {tar.Header{Name: "caf\xe9.jpg"}, nil, "not UTF-8"},
		"backslash":   {tar.Header{Name: `..\x.jpg`}, nil, `\`},
		"hard link":   {tar.Header{Name: "a.jpg", Typeflag: tar.TypeLink, Linkname: "b.jpg"}, nil, "hard link"},
		"size beyond": {tar.Header{Name: "a.jpg", Size: 1 << 40, Format: tar.FormatGNU}, nil, "archive ends"},
		"cut header":  {tar.Header{Name: "a.jpg"}, func(b []byte) []byte { return b[:300] }, "member 0"},
		"checksum":    {tar.Header{Name: "a.jpg"}, func(b []byte) []byte { b[0] = 'b'; return b }, "member 0"},
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
		must.Do(t, os.WriteFile(file, data, 0o644))
		_, err := openStore(t.Context(), file)
		t.Log(name, err)
		wantError(t, err, "images.tar", c.want)
	}
}

// Links in an archive lead to its members and nowhere else; links to other places, devices and pipes are left out.
func TestOddMembersAreLeftOut(t *testing.T) {
	var zipped, tarred bytes.Buffer
	z, w := zip.NewWriter(&zipped), tar.NewWriter(&tarred)
	put := func(name, content string, mode fs.FileMode, kind byte) {
		h := zip.FileHeader{Name: name}
		h.SetMode(mode | 0o644)
		_, err := must.Get(z.CreateHeader(&h))(t).Write([]byte(content))
		must.Do(t, err)
		of := tar.Header{Name: name, Typeflag: kind, Mode: 0o644, Size: int64(len(content))}
		if kind != tar.TypeReg {
			of.Size, of.Linkname = 0, content
		}
		must.Do(t, w.WriteHeader(&of))
		if kind == tar.TypeReg {
			_, err = w.Write([]byte(content))
			must.Do(t, err)
		}
	}
	must.Do(t, w.WriteHeader(&tar.Header{Name: "../GlobalHead.1.1", Typeflag: tar.TypeXGlobalHeader,
		PAXRecords: map[string]string{"comment": "x"}}))
	put("a/1.jpg", "one", 0, tar.TypeReg)
	put("b/2.jpg", "../a/1.jpg", fs.ModeSymlink, tar.TypeSymlink)
	put("b/3.jpg", "2.jpg", fs.ModeSymlink, tar.TypeSymlink)
	put("b/4.jpg", "/etc/passwd", fs.ModeSymlink, tar.TypeSymlink)
	put("b/5.jpg", "../../etc/passwd", fs.ModeSymlink, tar.TypeSymlink)
	put("b/pipe", "", fs.ModeNamedPipe, tar.TypeFifo)
	put("dev", "", fs.ModeDevice|fs.ModeCharDevice, tar.TypeChar)
	must.Do(t, errors.Join(z.Close(), w.Close()))
	for name, data := range map[string][]byte{"t.zip": zipped.Bytes(), "t.tar": tarred.Bytes()} {
		st, err := openStore(t.Context(), archive(t, name, data))
		must.Do(t, err)
		var got []string
		for _, e := range must.Get(st.list(t.Context()))(t) {
			r := must.Get(st.open(e.path))(t)
			got = append(got, e.path+" "+string(must.Get(io.ReadAll(r))(t)))
			must.Do(t, r.Close())
		}
		notes := notesOf(st)
		if want := []string{"a/1.jpg one", "b/2.jpg one", "b/3.jpg one"}; !slices.Equal(got, want) || len(notes) != 1 ||
			!strings.Contains(notes[0], `4 members left out`) || !strings.Contains(notes[0], `"b/4.jpg" first`) {
			t.Errorf("%s: %q, want %q; notes %q", name, got, want, notes)
		}
		must.Do(t, st.Close())
	}
}

func TestCutZipIsRefused(t *testing.T) {
	whole := tree{"a.jpg": "a", "b.jpg": "b"}.bytes(t)
	file := filepath.Join(t.TempDir(), "images.zip")
	for _, n := range []int{len(whole) / 2, len(whole) - 1} {
		must.Do(t, os.WriteFile(file, whole[:n], 0o644))
		_, err := openStore(t.Context(), file)
		wantError(t, err, "images.zip", "cut short", "download it again")
	}
}

// An archive that was truncated between two members, or within one, lacks images. It must end with
// one or two empty blocks; other data may follow.
func TestCutTarIsRefused(t *testing.T) {
	files := tree{"a.jpg": strings.Repeat("a", 700), "b.jpg": strings.Repeat("b", 512), "c.jpg": "", "d.jpg": "d"}
	whole := must.Get(os.ReadFile(files.tar(t)))(t)
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
		must.Do(t, os.WriteFile(file, data, 0o644))
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
	z := must.Get(flate.NewWriter(&packed, flate.BestSpeed))(t)
	zeros := make([]byte, 1<<20)
	sum := crc32.NewIEEE()
	for range 200 {
		sum.Write(zeros)
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, size := range map[string]uint64{"honest.jpg": 200 << 20, "liar.jpg": 10, "huge.jpg": 1 << 63} {
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum.Sum32(),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: size})
		if err == nil {
			_, err = f.Write(packed.Bytes())
		}
		must.Do(t, err)
	}
	good := picture(t, 1)
	for name, crc := range map[string]uint32{"wrong.jpg": 1, "good.jpg": crc32.ChecksumIEEE(good)} {
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, CRC32: crc, CompressedSize64: uint64(len(good)),
			UncompressedSize64: uint64(len(good))})
		if err == nil {
			_, err = f.Write(good)
		}
		must.Do(t, err)
	}
	must.Do(t, w.Close())
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
