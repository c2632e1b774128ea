# Installs pelton's release with Nix: `nix-env --install --file default.nix`,
# or `import ./default.nix { inherit pkgs; }`.
{ pkgs ? import <nixpkgs> { } }:

let
  # The address of the directory with the files of the release:
  baseUrl = "@BASE_URL@";
  version = "@VERSION@";

  sources.x86_64-linux = pkgs.fetchurl {
    url = "${baseUrl}/@ARCHIVE_x86_64@";
    sha256 = "@SHA256_x86_64@";
  };

  sources.aarch64-linux = pkgs.fetchurl {
    url = "${baseUrl}/@ARCHIVE_aarch64@";
    sha256 = "@SHA256_aarch64@";
  };

  system = pkgs.stdenvNoCC.hostPlatform.system;
in
pkgs.stdenvNoCC.mkDerivation {
  pname = "pelton";
  inherit version;
  src = sources.${system} or (throw "this release of pelton is not built for ${system}");
  dontConfigure = true;
  dontBuild = true;
  # The binary is static: there is nothing to patch.
  dontStrip = true;
  dontPatchELF = true;
  installPhase = ''
    mkdir -p $out
    cp -R bin share $out
  '';
  meta = {
    description = "Shows where shell pipelines spend their time, and runs them faster";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    platforms = builtins.attrNames sources;
    mainProgram = "pelton";
  };
}
