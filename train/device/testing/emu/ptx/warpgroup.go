package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// warpgroup is wgmma and what orders it. Its results arrive at the wait, so it gets the places of its registers.
func warpgroup(i instruction) (string, error) {
	switch name := strings.Join(i.name, "."); {
	case name == "wgmma.fence.sync.aligned" && len(i.args) == 0:
		return "hg_emu::wgmma_fence();", nil
	case name == "wgmma.commit_group.sync.aligned" && len(i.args) == 0:
		return "hg_emu::wgmma_commit();", nil
	case name == "wgmma.wait_group.sync.aligned" && len(i.args) == 1 && integer.MatchString(i.args[0]):
		return fmt.Sprintf("hg_emu::wgmma_wait(%s);", i.args[0]), nil
	case !strings.HasPrefix(name, "wgmma.mma_async.") || len(i.args) != 8 || i.args[4] != "1" || i.args[5] != "1":
		return "", fmt.Errorf("unsupported wgmma")
	}
	to := elements(i.args[0])
	want := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16.f32.bf16.bf16", 2*len(to))
	if strings.Join(i.name, ".") != want || len(to) != 64 && len(to) != 32 {
		return "", fmt.Errorf("unsupported wgmma of %d registers", len(to))
	}
	places := make([]string, len(to))
	for j, r := range to {
		match := register.FindStringSubmatch(r)
		if match == nil || i.regs[match[1]] != kinds[".f32"] {
			return "", fmt.Errorf("%.80q is no register of a float", r)
		}
		places[j] = "&" + match[1] + match[2]
	}
	tiles, err := i.values(ptype{'u', 64}, i.args[1:3]...)
	if err != nil {
		return "", err
	}
	more, err := i.value(i.args[3], ptype{'p', 1})
	if err != nil {
		return "", err
	}
	for _, across := range i.args[6:] {
		if !slices.Contains([]string{"0", "1"}, across) {
			return "", fmt.Errorf("%.80q is neither 0 nor 1", across)
		}
	}
	return fmt.Sprintf("{ float *const d[] = {%s}; hg_emu::wgmma(d, %d, %s, %s, %s, %s, %s, HG_PTX_LINE); }",
		strings.Join(places, ", "), len(to), tiles[0], tiles[1], more, i.args[6], i.args[7]), nil
}

// fence is the fence before wgmma reads what copies have written.
func fence(i instruction) (string, error) {
	if strings.Join(i.name, ".") != "fence.proxy.async.shared::cta" {
		return "", fmt.Errorf("unsupported fence")
	}
	return "hg_emu::wgmma_proxy();", nil
}
