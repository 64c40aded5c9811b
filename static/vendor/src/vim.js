export { vim } from "@replit/codemirror-vim";
