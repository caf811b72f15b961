package pretrained

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The files are those that the publishers put beside the weights, without what nothing reads.
func TestFilesBesideWeightsStateTheirPreprocessing(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"openai/clip-vit-base-patch32": {"preprocessor_config.json", `{"crop_size": 224, "do_center_crop": true,
			"do_normalize": true, "do_resize": true, "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3,
			"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711], "size": 224}`,
			"mean [0.48145467 0.4578275 0.40821072], std [0.26862955 0.2613026 0.2757771], filter bicubic, " +
				"size 224 of a short side of 224"},
		"its config.json": {"config.json", `{"model_type": "clip", "vision_config": {"hidden_act": "quick_gelu",
			"image_size": 224, "layer_norm_eps": 1e-05, "num_attention_heads": 12, "patch_size": 32}}`,
			"positions for 224 pixels, activation quick_gelu, heads 12, ε 1e-05"},
		"google/siglip-base-patch16-224": {"preprocessor_config.json", `{"do_normalize": true, "do_rescale": true,
			"do_resize": true, "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "SiglipImageProcessor",
			"image_std": [0.5, 0.5, 0.5], "resample": 3, "rescale_factor": 0.00392156862745098,
			"size": {"height": 224, "width": 224}}`,
			"mean [0.5 0.5 0.5], std [0.5 0.5 0.5], filter bicubic, size 224 of the whole image squashed to 224"},
		"facebook/dinov2-small": {"preprocessor_config.json", `{"crop_size": {"height": 224, "width": 224},
			"do_center_crop": true, "image_mean": [0.485, 0.456, 0.406], "image_processor_type": "BitImageProcessor",
			"image_std": [0.229, 0.224, 0.225], "resample": 3, "size": {"shortest_edge": 256}}`,
			"mean [0.485 0.456 0.406], std [0.229 0.224 0.225], filter bicubic, size 224 of a short side of 256"},
		"its config": {"config.json", `{"model_type": "dinov2", "hidden_act": "gelu", "image_size": 518,
			"layer_norm_eps": 1e-06, "num_attention_heads": 6}`, "positions for 518 pixels, activation gelu, heads 6, ε 1e-06"},
		"google/vit-base-patch16-224": {"preprocessor_config.json", `{"do_normalize": true, "do_resize": true,
			"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 224, "resample": 2}`,
			"mean [0.5 0.5 0.5], std [0.5 0.5 0.5], filter bilinear, size 224 of the whole image squashed to 224"},
		"facebook/convnext": {"preprocessor_config.json", `{"crop_pct": 0.875, "feature_extractor_type":
			"ConvNextFeatureExtractor", "resample": 3, "size": {"shortest_edge": 224}}`,
			"filter bicubic, size 224 of a short side of 256"},
		"timm/resnet50.a1_in1k": {"config.json", `{"architecture": "resnet50", "num_classes": 1000, "pretrained_cfg": {
			"tag": "a1_in1k", "input_size": [3, 224, 224], "test_input_size": [3, 288, 288], "interpolation": "bicubic",
			"crop_pct": 0.95, "crop_mode": "center", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}`,
			"timm's resnet50.a1_in1k, mean [0.485 0.456 0.406], std [0.229 0.224 0.225], filter bicubic, " +
				"size 224 of a short side of 235"},
		"timm before 0.8": {"config.json", `{"architecture": "vit_base_patch16_clip_384", "input_size": [3, 384, 384],
			"interpolation": "bicubic", "crop_pct": 1.0, "crop_mode": "squash", "mean": [0.5], "std": 0.5}`,
			"timm's vit_base_patch16_clip_384, mean [0.5 0.5 0.5], std [0.5 0.5 0.5], filter bicubic, " +
				"size 384 of the whole image squashed to 384, activation gelu"},
		"timm/vit_base_patch32_clip_224.openai": {"config.json", `{"architecture": "vit_base_patch32_clip_224",
			"pretrained_cfg": {"tag": "openai"}}`, "timm's vit_base_patch32_clip_224.openai, activation quick_gelu"},
		"laion/CLIP-ViT-B-32": {"open_clip_config.json", `{"model_cfg": {"embed_dim": 512, "vision_cfg": {
			"image_size": 224, "layers": 12, "width": 768, "patch_size": 32}}, "preprocess_cfg": {
			"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}}`,
			"mean [0.48145467 0.4578275 0.40821072], std [0.26862955 0.2613026 0.2757771], " +
				"size 224 of a short side of 224, activation gelu, heads 12"},
		"timm/ViT-B-16-SigLIP": {"open_clip_config.json", `{"model_cfg": {"vision_cfg": {"image_size": 224,
			"timm_model_name": "vit_base_patch16_siglip_224"}}, "preprocess_cfg": {"mean": [0.5, 0.5, 0.5],
			"std": [0.5, 0.5, 0.5], "interpolation": "bicubic", "resize_mode": "squash"}}`,
			"mean [0.5 0.5 0.5], std [0.5 0.5 0.5], filter bicubic, size 224 of the whole image squashed to 224"},

		"pixels as they are": {"preprocessor_config.json", `{"do_normalize": false, "image_mean": [9, 9, 9],
			"image_std": [9, 9, 9]}`, "mean [0 0 0], std [1 1 1]"},
		"bytes as they are":  {"preprocessor_config.json", `{"do_rescale": false}`, "do_rescale=false, rescale_factor=<nil>, which hgld does not have"},
		"padding":            {"config.json", `{"architecture": "x", "crop_mode": "border"}`, "timm's x, crop_mode border, which hgld does not have"},
		"another program's":  {"config.json", `{"name": "my app", "debug": true}`, ""},
		"a model of texts":   {"config.json", `{"model_type": "bert", "hidden_act": "gelu"}`, "not read: it describes a model of the type bert"},
		"another activation": {"config.json", `{"model_type": "siglip", "vision_config": {"hidden_act": "gelu_pytorch_tanh"}}`, "activation gelu_tanh"},
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644))
		list, err := Stated(filepath.Join(dir, "model.safetensors"))
		got := ""
		for _, p := range list {
			got += p.String()
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

func TestDamagedFilesBesideWeightsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"image_mean": [0.5,`:         "preprocessor_config.json: unexpected end",
		`[1]`:                          "cannot unmarshal array",
		`{"image_mean": "0.5"}`:        "image_mean is 0.5, want three numbers",
		`{"image_mean": []}`:           "want three numbers",
		`{"image_std": [1, "a", 2]}`:   "want three numbers",
		`{"crop_size": "224"}`:         "crop_size is 224, want a number",
		`{"size": {"height": "a"}}`:    "size: height is a, want a number",
		`{"crop_size": [224, 192, 3]}`: "want a square",
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "preprocessor_config.json"), []byte(text), 0o644))
		_, err := Stated(filepath.Join(dir, "w.pth"))
		if !errors.As(err, new(*StatedError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The second file would say nothing of its images; the record does.
func TestFetchRecordsWhatStoodBesideTheWeights(t *testing.T) {
	dir := t.TempDir()
	from, out := filepath.Join(dir, "a", "model.safetensors"), filepath.Join(dir, "w", "convnet.safetensors")
	err := errors.Join(os.Mkdir(filepath.Dir(from), 0o755), os.WriteFile(from, weights(t), 0o644),
		os.WriteFile(filepath.Join(dir, "a", "preprocessor_config.json"), []byte(`{"resample": 1}`), 0o644))
	must.Do(t, err)
	if _, err := Fetch(t.Context(), Options{Name: "convnet", From: from, Out: out}); err != nil {
		t.Fatal(err)
	}
	list, err := Stated(out)
	if err != nil || len(list) != 1 || list[0].Filter != "lanczos" || filepath.Dir(list[0].Source) != filepath.Dir(from) {
		t.Errorf("%v, %+v", err, list)
	}
}
