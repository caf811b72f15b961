package backbone_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/backbone"
)

// testdata/timm.txt lists what timm 1.0.31 says of its pretrained networks (timm.get_pretrained_cfg).
func TestNamesOfTimmNameTheSameNetworks(t *testing.T) {
	text, err := os.ReadFile("testdata/timm.txt")
	must.Do(t, err)
	for line := range strings.Lines(string(text)) {
		var name, filter, mode string
		var size, resize int
		var mean, std float32
		if _, err := fmt.Sscan(line, &name, &size, &filter, &resize, &mode, &mean, &std); err != nil {
			t.Fatal(line, err)
		}
		a, ok := backbone.AliasOf(name)
		if !ok {
			t.Errorf("%s is unknown", name)
			continue
		}
		p := a.Stated
		if p.Size != size || p.Filter != filter || p.Mean[0] != mean || p.Std[0] != std {
			t.Errorf("%s: %v, want %s", name, p, line)
		}
		// timm's share of 0.9 is a default, not what OpenAI's, open_clip's and Google's processors do.
		published := strings.Contains(name, "_clip_") || strings.Contains(name, "_siglip_")
		if !published && p.Resize != resize {
			t.Errorf("%s: a short side of %d, want %d", name, p.Resize, resize)
		}
	}
}

func TestNamesOfLibrariesNameTheSameNetworks(t *testing.T) {
	for name, want := range map[string]string{
		"resnet50": "resnet50 map[] ", "timm/resnet50.a1_in1k": "resnet50 map[] ",
		"vit_small_patch16_224":                             "vit-small map[] ",
		"hf_hub:timm/vit_base_patch16_384.augreg_in1k":      "vit-base map[input:384] ",
		"vit_large_patch16_224.augreg_in21k":                "vit-large map[] ",
		"facebook/dinov2-large":                             "dinov2-large map[] ",
		"vit_huge_patch14_224":                              "vit-large map[depth:32 patch:14 width:1280] ",
		"vit_tiny_patch16_224":                              "vit-small map[heads:3 width:192] ",
		"vit_small_patch14_dinov2.lvd142m":                  "dinov2-small map[input:518] ",
		"dinov2_vitl14_reg":                                 "dinov2-large-registers map[] ",
		"facebook/dinov2-with-registers-small":              "dinov2-small-registers map[] ",
		"vit_base_patch16_clip_224.openai":                  "clip-b16 map[] quick_gelu",
		"vit_base_patch32_clip_224.laion2b_e16":             "clip-b32 map[] gelu",
		"vit_base_patch32_clip_quickgelu_224.laion400m_e32": "clip-b32 map[] quick_gelu",
		"vit_base_patch16_clip_224.laion2b_ft_in1k":         "clip-b16 map[projection:0] gelu",
		"ViT-L/14@336px": "clip-b16 map[depth:24 heads:16 input:336 patch:14 " +
			"projection:768 width:1024] quick_gelu",
		"ViT-B-32":                          "clip-b32 map[] gelu",
		"ViT-B-32-quickgelu":                "clip-b32 map[] quick_gelu",
		"openai/clip-vit-base-patch32":      "clip-b32 map[] quick_gelu",
		"google/siglip-base-patch16-256":    "siglip-b16 map[input:256] gelu_tanh",
		"vit_base_patch16_siglip_224.webli": "siglip-b16 map[] gelu",
		"deit_small_distilled_patch16_224":  "deit-small-distilled map[] ",
		"deit_tiny_patch16_224.fb_in1k":     "deit-small map[heads:3 width:192] ",
		// other networks
		"resnet50d": "", "vit_giant_patch14_dinov2": "", "convnext_base": "", "vit_base_patch16_siglip_gap_224": "",
		"vit_base_patch16_99999999999999999999": "", "": "",
	} {
		a, ok := backbone.AliasOf(name)
		got := fmt.Sprintf("%s %v %s", a.Name, a.Settings, a.Stated.Activation)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
