// Runs before the first paint, so that the page never flashes in the wrong
// colours. A classic script: modules would come too late.
(() => {
  try {
    const theme = localStorage.getItem("clawbot.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* storage is switched off: the system's colours */ }
})();
