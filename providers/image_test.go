package providers

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/bmp"

	"clawbot/agentcore"
)

// noise is an image that does not compress.
func noise(w, h int, alpha uint8) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = alpha
		}
	}
	return img
}

func encoded(t *testing.T, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestImagesAreScaledToWhatEveryVendorTakes(t *testing.T) {
	var bitmap bytes.Buffer
	if err := bmp.Encode(&bitmap, image.NewGray(image.Rect(0, 0, 9, 9))); err != nil {
		t.Fatal(err)
	}
	small := encoded(t, image.NewGray(image.Rect(0, 0, 9, 9)))
	tests := []struct {
		name, mime string
		data       []byte
		wantMIME   string
		wantSame   bool
	}{
		{"one that fits", "image/png", small, "image/png", true},
		{"too many bytes", "image/png", encoded(t, noise(1500, 1500, 255)), "image/jpeg", false},
		{"too many bytes, transparent", "image/png", encoded(t, noise(1200, 1200, 100)), "image/png", false},
		{"too wide", "image/png", encoded(t, image.NewGray(image.Rect(0, 0, 5000, 20))), "image/jpeg", false},
		{"another type", "image/bmp", bitmap.Bytes(), "image/jpeg", false},
		{"one that can't be read", "image/png", []byte("pixels"), "image/png", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := FitImage(agentcore.Image{MIMEType: test.mime, Data: test.data})
			if got.MIMEType != test.wantMIME || bytes.Equal(got.Data, test.data) != test.wantSame {
				t.Fatalf("%s, %d bytes of %d", got.MIMEType, len(got.Data), len(test.data))
			}
			if test.wantSame {
				return
			}
			cfg, _, err := image.DecodeConfig(bytes.NewReader(got.Data))
			if err != nil || len(got.Data) > maxImageBytes || max(cfg.Width, cfg.Height) > maxImageSide {
				t.Errorf("%d bytes, %d × %d, %v", len(got.Data), cfg.Width, cfg.Height, err)
			}
		})
	}
}

func TestImagesThatCannotBeSentAreLeftOutWithAWord(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{
		agentcore.Image{MIMEType: "image/heic", Data: []byte("ftypheic")},
		agentcore.Image{MIMEType: "image/png", Data: bytes.Repeat([]byte("x"), maxImageBytes+1)},
	}}
	parts := UserParts(m, true, true)
	if len(parts) != 1 {
		t.Fatalf("parts %v, want one line", parts)
	}
	if _, ok := parts[0].(agentcore.Text); !ok {
		t.Errorf("part %T, want text", parts[0])
	}
}
