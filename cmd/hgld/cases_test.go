package main

import (
	"bytes"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
)

// TestCases runs testdata/cases: what people report of inputs that were misread, and of hostile ones. Each
// script states the right result or message. The folder of a script's name has its binary files, which
// "bring" copies here; "picture" draws different photographs.
func TestCases(t *testing.T) {
	cases := must.Get(filepath.Abs(filepath.Join("testdata", "cases")))(t)
	testscript.Run(t, testscript.Params{Dir: cases, RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bring": func(ts *testscript.TestScript, _ bool, folders []string) {
				for _, folder := range folders {
					ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(filepath.Join(cases, folder))))
				}
			},
			"picture": pictureCommand,
		}})
}

// pictureCommand is the command picture FILE…
func pictureCommand(ts *testscript.TestScript, _ bool, files []string) {
	for i, name := range files {
		var data bytes.Buffer
		ts.Check(jpeg.Encode(&data, sketch.Picture(i%len(sketch.Forms), i, 0, 16), nil))
		path := ts.MkAbs(name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, data.Bytes(), 0o644))
	}
}
