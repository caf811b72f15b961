package pretrained

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/download"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/train/backbone"
)

// StatedError says that a file beside weights cannot be read.
type StatedError struct {
	Path string // the file
	Err  error  // the cause
}

// Error names the file.
func (e *StatedError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *StatedError) Unwrap() error { return e.Err }

// mostSettings bounds the bytes of a file of settings.
const mostSettings = 1 << 24

// companion is a file that publishers put beside weights.
type companion struct {
	name string
	read func(facts) backbone.Preprocessing
}

// companions are in order of precedence.
var companions = []companion{
	{"preprocessor_config.json", ofProcessor},
	{"open_clip_config.json", ofOpenCLIP},
	{"config.json", ofConfig},
}

// CompanionNames lists the names of the files that [Stated] reads.
func CompanionNames() (names []string) {
	for _, c := range companions {
		names = append(names, c.name)
	}
	return names
}

func companionNamed(name string) *companion {
	k := slices.IndexFunc(companions, func(c companion) bool { return c.name == name })
	if k < 0 {
		return nil
	}
	return &companions[k]
}

// settingsName returns the name of a file of settings at a path or an address.
func settingsName(from string) string {
	if !download.IsAddress(from) {
		return filepath.Base(from)
	}
	if u, err := url.Parse(from); err == nil {
		return path.Base(u.Path)
	}
	return from
}

// Companions lists the files beside weights that [Stated] reads and that exist.
func Companions(weights string) (list []string) {
	for _, c := range companions {
		path := filepath.Join(filepath.Dir(weights), c.name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			list = append(list, path)
		}
	}
	return list
}

// Stated reads what the files beside weights say of them, and what the weights say in their own header if
// hgld exported them. The first statement has precedence.
func Stated(weights string) ([]backbone.Preprocessing, error) {
	list, err := ofExport(weights)
	if err != nil {
		return nil, err
	}
	for _, c := range companions {
		path := filepath.Join(filepath.Dir(weights), c.name)
		said, err := statedIn(path, c.name)
		if atomicfile.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, said...)
	}
	r, err := ReadRecord(weights)
	if atomicfile.IsUnreadable(err) {
		return nil, err
	}
	return append(list, r.Stated...), nil // another program's .json is no record
}

// statedIn reads a file that publishers put beside weights under a name of companions. It returns nothing
// if the file says nothing of images.
func statedIn(path, name string) ([]backbone.Preprocessing, error) {
	text, err := regular.ReadAtMost(path, mostSettings)
	if err != nil {
		return nil, err
	}
	f := facts{at: name, values: map[string]any{}, bad: new([]error)}
	if err := json.Unmarshal(text, &f.values); err != nil {
		return nil, &StatedError{path, err}
	}
	p := companionNamed(name).read(f)
	if err := errors.Join(*f.bad...); err != nil {
		return nil, &StatedError{path, err}
	}
	if p == (backbone.Preprocessing{}) {
		return nil, nil
	}
	p.Source = path
	return []backbone.Preprocessing{p}, nil
}

// fetchStated reads the files of o.Settings.
func (o Options) fetchStated(ctx context.Context) (list []backbone.Preprocessing, err error) {
	for _, from := range o.Settings {
		file := from
		public, _ := Options{From: from}.origin()
		name := settingsName(from)
		if companionNamed(name) == nil {
			return nil, fmt.Errorf("%s: %w", public, registry.Unknown("file of settings", name, CompanionNames()))
		}
		if download.IsAddress(from) {
			file = Options{From: from, Out: o.Out}.partPath()
			_, err := download.Fetch(ctx, download.Request{URL: from, Part: file, Unsized: mostSettings})
			if err != nil {
				return nil, errors.Join(err, download.Remove(file))
			}
		}
		said, err := statedIn(file, name)
		if file != from {
			err = errors.Join(err, download.Remove(file))
		}
		var at *StatedError
		if errors.As(err, &at) {
			err = at.Err // the partial file means nothing to the reader
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", public, err)
		}
		for _, p := range said {
			p.Source = public
			list = append(list, p)
		}
	}
	return list, nil
}

// ofExport reads the settings in the header of a safetensors file of hgld.
func ofExport(path string) ([]backbone.Preprocessing, error) {
	f, err := tensorfile.OpenSafetensors(path)
	if atomicfile.IsUnreadable(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil // the reader of the weights reports it
	}
	defer f.Close()
	var in struct {
		Size, Resize int
		Filter       string
		Mean, Std    [3]float32
		Squash       bool
	}
	var model struct {
		Backbone struct {
			Settings struct {
				Activation string
				Heads      int
			}
		}
	}
	if json.Unmarshal([]byte(f.Metadata[backbone.InputKey]), &in) != nil || in.Size == 0 {
		return nil, nil
	}
	json.Unmarshal([]byte(f.Metadata[backbone.ModelKey]), &model) // an export without it states no activation
	p := backbone.Preprocessing{Source: path, Mean: in.Mean, Std: in.Std, Filter: in.Filter, Size: in.Size,
		Resize: in.Resize, Squash: in.Squash, Activation: model.Backbone.Settings.Activation,
		Heads: model.Backbone.Settings.Heads}
	if p.Resize == 0 {
		p.Resize, p.Squash = p.Size, true
	}
	return []backbone.Preprocessing{p}, nil
}

// ofProcessor reads preprocessor_config.json, the image processor of a model of transformers.
func ofProcessor(f facts) (p backbone.Preprocessing) {
	if inner := f.in("image_processor"); inner.has("size") || inner.has("image_mean") {
		f = inner // processor of a model of images and texts
	}
	p.Mean, p.Std = f.three("image_mean"), f.three("image_std")
	if f.no("do_normalize") {
		p.Mean, p.Std = [3]float32{}, [3]float32{1, 1, 1}
	}
	if f.has("resample") {
		p.Filter = pillowFilter(f.number("resample"))
	}
	if factor := f.number("rescale_factor"); f.no("do_rescale") || factor != 0 && math.Abs(factor*255-1) > 1e-3 {
		p.Unsupported = fmt.Sprintf("do_rescale=%v, rescale_factor=%v", f.values["do_rescale"], f.values["rescale_factor"])
	}
	f.processorSize(&p)
	return p
}

// processorSize reads how images are resized and cropped.
func (f facts) processorSize(p *backbone.Preprocessing) {
	crop := f.side("crop_size")
	cropped := crop > 0 && !f.no("do_center_crop")
	short, square := 0, 0
	switch size := f.values["size"].(type) {
	case float64: // older files: the name of the class says which side it is
		kind := strings.ToLower(fmt.Sprint(f.values["image_processor_type"], f.values["feature_extractor_type"]))
		if short = int(size); !cropped && !strings.Contains(kind, "clip") {
			short, square = 0, int(size)
		}
	case map[string]any:
		in := f.in("size")
		short, square = int(in.number("shortest_edge")), in.side("")
		if other := in.number("width"); square > 0 && int(other) != square {
			p.Unsupported = fmt.Sprintf("size %v×%v, which is no square", in.values["height"], other)
			return
		}
		if in.has("longest_edge") {
			p.Unsupported = "size.longest_edge"
			return
		}
	}
	if share := f.number("crop_pct"); share > 0 && short > 0 && !cropped { // ConvNeXt's: from 384 pixels on it squashes
		if short < 384 {
			p.Size, p.Resize = short, int(float64(short)/share)
			return
		}
		short, square = 0, short
	}
	switch {
	case f.no("do_resize"):
		p.Unsupported = "do_resize=false"
	case short > 0 && cropped:
		p.Size, p.Resize = crop, short
	case square > 0 && cropped:
		p.Size, p.Resize, p.Squash = crop, square, true
	case square > 0:
		p.Size, p.Resize, p.Squash = square, square, true
	case short > 0 && !f.has("do_center_crop"): // the processor's default crops to the short side
		p.Size, p.Resize = short, short
	case short > 0:
		p.Unsupported = "size.shortest_edge without a crop"
	}
	if p.Resize < p.Size { // transformers pads it
		p.Unsupported = fmt.Sprintf("a crop of %d from %d pixels", p.Size, p.Resize)
	}
}

// ofOpenCLIP reads open_clip_config.json.
func ofOpenCLIP(f facts) (p backbone.Preprocessing) {
	how, model := f.in("preprocess_cfg"), f.in("model_cfg")
	vision := model.in("vision_cfg")
	p.Mean, p.Std = how.three("mean"), how.three("std")
	if how.has("interpolation") {
		p.Filter = filterNamed(how.text("interpolation"))
	}
	p.Size = cmp.Or(how.side("size"), vision.side("image_size"))
	if p.Size > 0 && len(how.values) > 0 {
		p.Resize = p.Size
		switch mode := how.text("resize_mode"); mode {
		case "squash":
			p.Squash = true
		case "longest":
			p.Unsupported = "resize_mode longest"
		}
	} else {
		p.Size = 0
	}
	if len(vision.values) > 0 && !vision.has("timm_model_name") { // a timm network is described by its own name
		p.Activation = "gelu"
		if model.values["quick_gelu"] == true {
			p.Activation = "quick_gelu"
		}
	}
	if width, of := vision.number("width"), vision.number("head_width"); width > 0 && !vision.has("timm_model_name") {
		p.Heads = int(width / cmp.Or(of, 64))
	}
	return p
}

// ofConfig reads config.json, which timm and transformers write.
func ofConfig(f facts) (p backbone.Preprocessing) {
	if f.has("architecture") {
		return ofTimm(f)
	}
	kind := f.text("model_type")
	if f.has("vision_config") {
		f = f.in("vision_config")
	} else if !slices.Contains([]string{"", "clip_vision_model", "siglip_vision_model", "dinov2",
		"dinov2_with_registers", "vit", "deit"}, kind) {
		return backbone.Preprocessing{Unread: "it describes a model of the type " + kind}
	} else if kind == "" && !f.has("hidden_act") && !f.has("image_size") { // not of a model
		return p
	}
	p.Activation = activation(f.text("hidden_act"))
	p.Heads, p.Epsilon = int(f.number("num_attention_heads")), f.number("layer_norm_eps")
	p.Positions = f.side("image_size")
	return p
}

// ofTimm reads the config.json of a model of timm.
func ofTimm(f facts) (p backbone.Preprocessing) {
	if p.Network = f.text("architecture"); f.in("pretrained_cfg").text("tag") != "" {
		p.Network += "." + f.in("pretrained_cfg").text("tag")
	}
	how := f.in("pretrained_cfg")
	if !f.has("pretrained_cfg") {
		how = f // as timm wrote it before version 0.8
	}
	p.Mean, p.Std = how.three("mean"), how.three("std")
	if how.has("interpolation") {
		p.Filter = filterNamed(how.text("interpolation"))
	}
	if list, _ := how.values["input_size"].([]any); len(list) == 3 {
		side, _ := list[2].(float64)
		p.Size = int(side)
		p.Resize = int(side / cmp.Or(how.number("crop_pct"), 0.875))
	}
	switch mode := how.text("crop_mode"); mode {
	case "", "center":
	case "squash":
		p.Squash = true
	default:
		p.Unsupported = "crop_mode " + mode
	}
	args := f.in("model_args")
	p.Heads = int(args.number("num_heads"))
	if p.Activation = activation(args.text("act_layer")); p.Activation == "" {
		p.Activation = backbone.TimmActivation(p.Network)
	}
	return p
}

// activation returns hgld's name of an activation, or the name itself if hgld has none.
func activation(name string) string {
	switch name {
	case "gelu_pytorch_tanh", "gelu_new", "gelu_fast":
		return "gelu_tanh"
	case "quickgelu":
		return "quick_gelu"
	}
	return name
}

// pillowFilter returns the name of a filter of Pillow.
func pillowFilter(number float64) string {
	names := []string{"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"}
	if i := int(number); i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprint(number)
}

// filterNamed returns hgld's name of a filter.
func filterNamed(name string) string {
	if name == "random" { // of a training; timm evaluates with bilinear
		return "bilinear"
	}
	return name
}
