package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/download"
	"hgld/internal/filelock"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/internal/terminal"
	"hgld/internal/torchfile"
	"hgld/train/backbone"
	"hgld/train/pretrained"
)

const fetchExamples = "  hgld models fetch resnet50 --from https://…/resnet50-0676ba61.pth --sha256 0676ba61…\n" +
	"  hgld models fetch deit-small --from ~/Downloads/model.safetensors\n\n" +
	"  hgld models show NAME says where weights are published, and their licence. hgld fetches only what\n" +
	"  you name. It writes weights/NAME.safetensors in the project, and records the source in\n" +
	"  weights/NAME.json. A .pth is converted without running any code in it. After an interrupted\n" +
	"  download, run the same command again to resume."

func modelsFetchCommand() *cli.Command {
	return &cli.Command{
		Name: "fetch", Usage: "fetch weights from an address or a file, check and convert them", ArgsUsage: "NAME",
		Description: fetchExamples,
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "from", Usage: "`URL` or file: .safetensors, or a .pth, .pt or .bin written by torch.save"},
			&cli.StringFlag{Name: "sha256", Usage: "fail if the sha256 of the file is not `HEX`"},
			&cli.StringFlag{Name: "out", Usage: "write this `FILE` (default: weights/NAME.safetensors)"},
			weightsKeyFlag(),
			&cli.StringSliceFlag{Name: "settings", Usage: "`URL` or file that says how images are prepared: " +
				strings.Join(pretrained.CompanionNames(), ", ") + "; repeatable. Files beside a --from on disk are read unasked"},
			&cli.BoolFlag{Name: "replace", Usage: "replace a file that came from another source"}),
		Action: fetchModel,
	}
}

func fetchModel(c *cli.Context) error {
	j, err := newJobWithArgs(c, 1, 1, "the name of a network")
	if err != nil {
		return err
	}
	o, err := fetchOptions(c, j)
	if err != nil {
		return err
	}
	err = j.checkOutputs("models fetch", []string{o.From}, pipeline.Output{Path: o.Out},
		pipeline.Output{Path: pretrained.RecordPath(o.Out), Kind: kindWeightsRecord})
	if err != nil {
		return err
	}
	end := showBytes(j, &o)
	r, err := pretrained.Fetch(j.ctx, o)
	end()
	if err != nil {
		return fetchError(err, o, r)
	}
	if j.json {
		return writeJSON(j, r)
	}
	reportFetch(j, o, r)
	return nil
}

// showBytes shows the progress of a download.
func showBytes(j *job, o *pretrained.Options) (end func()) {
	var bar *terminal.Progress
	o.Progress = func(done, total int64) {
		if bar == nil {
			bar = j.progress("megabytes", int(total/1e6))
			bar.From(int(done / 1e6))
		}
		bar.Set(int(done/1e6), "")
	}
	return func() {
		if bar != nil {
			bar.End()
		}
	}
}

var sha256Form = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// fetchOptions reads the flags.
func fetchOptions(c *cli.Context, j *job) (pretrained.Options, error) {
	o := pretrained.Options{Name: j.args[0], From: c.String("from"), SHA256: c.String("sha256"), Out: c.String("out"),
		Key: c.String("key"), Settings: c.StringSlice("settings"), Replace: j.replace}
	list, err := backbone.KnownNetworks()
	if err != nil {
		return o, err
	}
	known, err := modelNamed(list, o.Name)
	if err != nil {
		return o, err
	}
	o.Name = known.Name
	switch {
	case o.From == "":
		return o, withHint(usagef("--from is missing: hgld fetches only what you name"),
			"%s", publishedAt(j.args[0], known))
	case o.SHA256 != "" && !sha256Form.MatchString(o.SHA256):
		return o, usagef("--sha256 is %.80q; want 64 hexadecimal digits", o.SHA256)
	case o.Out == "":
		o.Out = j.project.Join(filepath.Join("weights", o.Name+".safetensors"))
	case filepath.Ext(o.Out) != ".safetensors":
		return o, usagef("--out is %s; want a name that ends in .safetensors", o.Out)
	}
	return o, nil
}

// publishedAt names the command that fetches the weights with a library's name, or else the first of a network.
func publishedAt(name string, m backbone.Known) string {
	if len(m.Weights) == 0 {
		return "no weights are published for " + m.Name + "; hgld models list prints where others are"
	}
	w := m.Weights[max(slices.IndexFunc(m.Weights, func(w backbone.Weights) bool {
		return strings.TrimPrefix(w.From, "timm/") == strings.TrimPrefix(name, "timm/")
	}), 0)]
	file, settings := w.Address()
	text := fmt.Sprintf("%s (licence: %s): hgld models fetch %s --from %s", w.From, w.Licence, word(m.Name), word(file))
	if settings != "" {
		text += " --settings " + word(settings)
	}
	return text
}

// reportFetch prints what was fetched and how to use it.
func reportFetch(j *job, o pretrained.Options, r pretrained.Result) {
	switch t := r.Transfer; {
	case r.There:
		j.log("%s already exists, from the same source", r.Out)
	case t.Changed:
		j.log("the file on the server has changed since the download began, so it was fetched from the start")
	case t.Whole:
		j.log("the server cannot send part of a file, so it was fetched from the start")
	case t.Kept > 0:
		j.log("resumed after %d of %d bytes", t.Kept, t.Bytes)
	}
	j.print("%s: %d tensors, fits %s\n", r.Out, r.Tensors, r.Name)
	j.print("fetched %d bytes, sha256 %s%s\n", r.Bytes, r.SHA256, map[bool]string{true: ", as expected"}[o.SHA256 != ""])
	if note := (&pretrained.Weights{Key: r.Dictionary, Others: r.Others}).Note(); note != "" {
		j.print("%s; --key chooses\n", note)
	}
	for _, p := range r.Stated {
		j.print("%s: %s\n", p.Source, p)
	}
	if len(r.Stated) == 0 && download.IsAddress(o.From) {
		j.log("nothing says how its images are prepared; if the address has one of %s beside the file, add --settings URL",
			strings.Join(pretrained.CompanionNames(), ", "))
	}
	if r.Converted {
		j.print("converted from a file of torch.save; the result has sha256 %s\n", r.Stored)
	}
	j.log("recorded in %s; train with %s", pretrained.RecordPath(r.Out), trainedWith(r.Name, r.Out))
}

// trainedWith returns the settings of a training that starts from a file of weights of a network.
func trainedWith(name, file string) string {
	text := "-o model.weights=" + word(file)
	list, err := backbone.KnownNetworks()
	if err != nil {
		return text
	}
	if m, err := modelNamed(list, name); err == nil && !m.Net {
		text = "-o model.backbone=" + m.Name + " " + text
		if m.Facts.Vector {
			text += " -o model.pooling=none"
		}
	}
	return text
}

// fetchError adds the exit code and the next step to the error of a fetch.
func fetchError(err error, o pretrained.Options, r pretrained.Result) error {
	var status *download.StatusError
	var torch *torchfile.FormatError
	switch {
	case errors.As(err, new(*download.TemporaryError)):
		return err
	case errors.As(err, new(*registry.UnknownError)):
		return withCode(exitUsage, err)
	case errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		return withHint(err, "the server requires a login: download the file with its own client, and name it with --from")
	case errors.As(err, &status):
		return withHint(err, "hgld models show %s says where its weights are published", word(o.Name))
	case errors.As(err, new(*filelock.LockedError)):
		return withHint(err, "another hgld process is fetching the same file")
	case errors.Is(err, pretrained.ErrUnrecorded):
		return withHint(err, "--sha256 compares the file itself; --replace fetches it again")
	case errors.Is(err, pretrained.ErrExists), errors.Is(err, pretrained.ErrSum), errors.Is(err, pretrained.ErrFit):
		return err
	case errors.As(err, &torch) && torch.Refused != "":
		return withHint(withCode(exitIntegrity, err), "hgld reads only numbers: save the network's state_dict(), or try "+
			"scripts/convert_weights.py")
	case errors.As(err, &torch) || errors.As(err, new(*tensorfile.FormatError)):
		return withHint(withCode(exitIntegrity, err), "want .safetensors, or a state dict saved by torch.save")
	case errors.Is(err, fs.ErrNotExist):
		return withCode(exitUsage, err)
	}
	return err
}
